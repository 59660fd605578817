"""All that a Flower shows is kept for the search, its error pages too."""

import asyncio
import json

from memsift_ops import valkey
from memsift_ops.chaos import flower, http
from memsift_schemas.redis_link import end
from tests.ops.chaos.test_runtime import listening

TASKS = {name: {"worker": "worker0@here"} for name in ("job-a", "job-b")}


async def test_pages_of_lists_of_single_jobs_and_of_errors_are_kept(tmp_path):
    # Given a server that answers as Flower does, and shows something else on each page
    async def answer(asked):
        if asked.path.startswith("/api/tasks"):
            return 200, json.dumps(TASKS).encode()
        if asked.path.startswith("/worker/"):
            return 500, b"shown by an error page"
        return 200, f"shown by {asked.path}".encode()

    port, kept = valkey.free_port(), tmp_path / "flower.seen"
    task = asyncio.create_task(http.serve(port, answer))
    await listening(port)
    # When it is read
    shown = await asyncio.to_thread(flower.scrape, f"http://127.0.0.1:{port}", kept)
    # Then everything is there
    assert (shown.jobs, shown.failed) == (2, ["/worker/worker0@here"])
    found = kept.read_text()
    for page in (*flower.PAGES, "/task/job-a", "/api/task/info/job-b"):
        assert f"shown by {page}\n" in found + "\n"
    assert "shown by an error page" in found
    await end([task])


async def test_a_flower_that_is_not_there_shows_no_job(tmp_path):
    port = valkey.free_port()
    shown = await asyncio.to_thread(flower.scrape, f"http://127.0.0.1:{port}", tmp_path / "flower.seen")
    assert shown.jobs == 0
    assert set(flower.PAGES) <= set(shown.failed)
