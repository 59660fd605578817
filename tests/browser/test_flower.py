"""Flower, in a real browser, with a real worker behind it: every job's fate, and no word of any."""

import os
import re
import time
import uuid
from pathlib import Path

import pytest
from redis import Redis

from memsift_ops.stack import Stack
from memsift_schemas import message, wire
from memsift_schemas.memory import Memory
from tests.ops.processes import until
from tests.samples import job

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]

SECRET = "xyzzy-private"
QUEUE = "memsift.rerank"
# With this set to a folder, its pictures are made anew: docs.
PICTURES = os.environ.get("MEMSIFT_TEST_PICTURES")
# How long the runtime takes for a job, so that one is seen under way while others wait.
JOB_MS = 8_000


def push(redis, queue, **changes):
    """A job with memories of its own, since answers are remembered, on the queue; gives its id."""
    mine = uuid.uuid4().hex
    memories = tuple(
        Memory(id=f"m{at}", text=f"{SECRET} is {mine} {at}.", created_at=None) for at in range(20)
    )
    deadline = time.time() + 300
    settled = {"deadline": deadline, "prior": tuple(map(float, range(20))), **changes}
    whole = job(query=f"{SECRET}?", candidates=memories, **settled)
    redis.lpush(queue, message.build(whole, wire.encode_job(whole), queue))
    return whole.id


@pytest.fixture(scope="module")
def flower():
    """A worker that takes one job at a time, and Flower; jobs of every fate are on their way."""
    variables = {
        "MEMSIFT_RUNTIME": "scripted",
        "MEMSIFT_SCRIPTED_MS": str(JOB_MS),
        "MEMSIFT_RUNTIME_CONCURRENCY": "1",
        "MEMSIFT_BATCHES_IN_FLIGHT": "1",
        "MEMSIFT_BATCH_MAX": "1",
    }
    with pytest.MonkeyPatch.context() as patched, Stack(QUEUE) as stack:
        for name, value in variables.items():
            patched.setenv(name, value)
        url = stack.start_valkey()
        stack.start_worker()
        address = stack.start_flower(0)
        with Redis.from_url(url, decode_responses=True) as redis:
            # Its first events have come: from now on it misses nothing.
            assert until(redis.pubsub_numpat, 30)
            time.sleep(2)
            ids = {
                "REVOKED": push(redis, QUEUE, deadline=time.time() - 5),
                "FAILURE": push(redis, QUEUE, ranker="none-such"),
                "SUCCESS": push(redis, QUEUE),
            }
            for _ in range(8):
                push(redis, QUEUE)
            yield {"url": address, "redis": redis, "ids": ids}


def some_more(flower):
    """One job under way and one that waits, whatever has become of the first ones: tests run in any order.

    With these, both times, there are no more than the 15 rows of the list's first page.
    """
    for _ in range(2):
        push(flower["redis"], QUEUE)


def text(seen):
    return seen.page.inner_text("body")


def told_of(seen, end):
    """The page of a task once Flower has heard how it ended, since tests run in any order."""

    def ended():
        if end in text(seen):
            return True
        seen.page.reload()
        seen.page.wait_for_timeout(1_000)
        return False

    until(ended, 60)
    return text(seen)


def keep(seen, name):
    """A picture for the documentation, where one is wanted."""
    assert SECRET not in seen.page.content()
    if PICTURES:
        seen.page.screenshot(path=Path(PICTURES) / f"flower-{name}.png")


def rows(page):
    """The table's rows by task id: all that they say."""
    found = {}
    for row in page.locator("table tbody tr").all_inner_texts():
        if (one := re.search(r"[0-9a-f-]{30,36}", row)) is not None:
            found[one[0]] = row
    return found


def test_the_task_list_shows_every_jobs_fate(flower, visit):
    some_more(flower)
    seen = visit(f"{flower['url']}/tasks", height=620)
    wanted = flower["ids"]

    def all_there():
        shown = rows(seen.page)
        ended = all(state in shown.get(task, "") for state, task in wanted.items())
        if ended and any("STARTED" in row for row in shown.values()):
            return True
        seen.page.reload()
        seen.page.wait_for_timeout(1_000)
        return False

    assert until(all_there, 60), text(seen)
    shown = rows(seen.page)
    assert all("memsift.rerank" in shown[task] and "memsift@" in shown[task] for task in wanted.values())
    # The runtime of the one that was ranked, in Flower's words.
    assert re.search(r"\d+\.\d+ (ms|s)", shown[wanted["SUCCESS"]])
    keep(seen, "tasks")
    assert seen.errors == []
    assert {host.split(":")[0] for host in seen.hosts} == {"127.0.0.1"}


def test_a_tasks_page_shows_counts_worker_queue_and_outcome(flower, visit):
    seen = visit(f"{flower['url']}/task/{flower['ids']['SUCCESS']}", height=1130)
    shown = told_of(seen, "20 memories ranked")
    for said in (
        *("memsift.rerank", "SUCCESS", "{candidates: 20, turns: 0, top_k: 3}", "20 memories ranked"),
        *("memsift@", "Routing key", "Received", "Started", "Succeeded", "Runtime"),
    ):
        assert said.lower() in shown.lower(), said
    keep(seen, "task")


@pytest.mark.parametrize(
    ("state", "told"), [("FAILURE", "JobRefused('unknown_ranker')"), ("REVOKED", "REVOKED")]
)
def test_a_job_that_was_not_ranked_says_why(flower, visit, state, told):
    seen = visit(f"{flower['url']}/task/{flower['ids'][state]}")
    shown = told_of(seen, told)
    assert "memsift.rerank" in shown
    assert told in shown
    assert SECRET not in seen.page.content()


def test_the_worker_page_shows_the_lists_that_it_drains(flower, visit):
    seen = visit(flower["url"], height=620)
    seen.page.get_by_role("link", name=re.compile("memsift@")).first.click()
    seen.page.get_by_role("tab", name="Queues").click()
    seen.page.get_by_text(f"{QUEUE}:own:").first.wait_for()
    assert re.search(rf"^{re.escape(QUEUE)}\s", text(seen), re.M)
    keep(seen, "worker")


def test_the_overview_counts_what_became_of_jobs(flower, visit):
    seen = visit(flower["url"], height=560)
    seen.page.get_by_text("memsift@").first.wait_for()
    assert "Online" in text(seen)
    keep(seen, "workers")


def test_the_broker_page_shows_how_many_jobs_wait(flower, visit):
    some_more(flower)
    seen = visit(f"{flower['url']}/broker", height=420)

    def agrees():
        before = flower["redis"].llen(QUEUE)
        seen.page.reload()
        row = re.search(rf"^{re.escape(QUEUE)}\s+(\d+)", text(seen), re.M)
        return row is not None and before == flower["redis"].llen(QUEUE) == int(row[1]) > 0

    assert until(agrees, 60), text(seen)
    assert f"{QUEUE}:own:" in text(seen)
    keep(seen, "broker")


def test_no_page_of_flowers_needs_anybody_else(flower, visit):
    for path in ("/", "/tasks", "/broker", f"/task/{flower['ids']['SUCCESS']}"):
        seen = visit(f"{flower['url']}{path}")
        seen.page.wait_for_timeout(500)
        assert {host.split(":")[0] for host in seen.hosts} == {"127.0.0.1"}
        assert SECRET not in seen.page.content()
