"""The logs of a whole run, at their most talkative and with faults, hold no word of a memory."""

import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request

import pytest
from redis import Redis

from memsift_ops import valkey
from memsift_ops.chaos.secret import leaks, plant
from tests.integration.servers import until
from tests.integration.test_worker import live_job, raw
from tests.samples import memories

pytestmark = pytest.mark.stack

SECRET = plant(11)


@pytest.fixture
def run(servers, valkey_url, queue, tmp_path):
    """A fake SGLang, a worker on it, a gateway; all at DEBUG, in JSON, each into a file."""
    ports = {name: valkey.free_port() for name in ("runtime", "gateway")}
    fake = [
        sys.executable,
        "-m",
        "memsift_ops.chaos.runtime",
        str(ports["runtime"]),
        str(tmp_path / "kept"),
        "{}",
    ]

    class Run:
        url = f"http://127.0.0.1:{ports['gateway']}"
        logs = (tmp_path / "worker.log", tmp_path / "gateway.log")
        # Celery's farewell goes to standard output.
        files = (*logs, tmp_path / "worker.out", tmp_path / "gateway.out")

        def keep(self, name, argv, **environment):
            """Start it with a shell that has kept both of its outputs."""
            told = {"MEMSIFT_REDIS_URL": valkey_url, "MEMSIFT_QUEUE": queue, "MEMSIFT_LOG_FORMAT": "json"}
            # Appended to, or the next line of the process would be written over what a test has added.
            kept = ["sh", "-c", f'exec "$@" >> {tmp_path}/{name}.out 2>> {tmp_path}/{name}.log', name, *argv]
            return servers.start(name, kept, **told, MEMSIFT_LOG_LEVEL="DEBUG", **environment)

        def mode(self, mode):
            url = f"http://127.0.0.1:{ports['runtime']}/control"
            with urllib.request.urlopen(url, data=json.dumps({"mode": mode}).encode(), timeout=5):
                pass

        def call(self, body, path="/v1/rerank"):
            asked = urllib.request.Request(
                self.url + path, data=json.dumps(body).encode(), headers={"content-type": "application/json"}
            )
            try:
                with urllib.request.urlopen(asked, timeout=20) as answer:
                    return answer.status, json.loads(answer.read())
            except urllib.error.HTTPError as error:
                return error.code, {}

        def lines(self):
            return [json.loads(line) for file in self.logs for line in file.read_text().splitlines()]

    one = Run()
    one.runtime = servers.start("runtime", fake)
    one.restart = lambda: servers.start("runtime", fake)
    worker = [sys.executable, "-m", "memsift_ops", "worker", "-n", "private"]
    runtime = f"http://127.0.0.1:{ports['runtime']}"
    one.worker = one.keep(
        "worker",
        worker,
        MEMSIFT_RUNTIME="sglang",
        MEMSIFT_SGLANG_URL=runtime,
        MEMSIFT_STRATEGY="scorecard",
        MEMSIFT_ALSO_SERVE="jev",
    )
    one.keep("gateway", [sys.executable, "-m", "memsift_ops", "gateway", f"--port={ports['gateway']}"])
    until(lambda: answers_model(one), 60)
    return one


def body(at=0):
    documents = [f"{SECRET.planted} {at} {one}" for one in range(4)]
    return {"query": f"{SECRET.planted} {at}?", "documents": documents}


def answers_model(run):
    try:
        asked = urllib.request.Request(
            f"{run.url}/v1/rerank",
            data=json.dumps(body(time.time_ns())).encode(),
            headers={"content-type": "application/json", "x-memsift-deadline-ms": "2000"},
        )
        with urllib.request.urlopen(asked, timeout=5) as answer:
            return answer.headers["x-memsift-source"] == "model"
    except OSError:
        return False


def planted_job(queue, **fields):
    texts = [one.model_copy(update={"text": f"{SECRET.planted} {one.id}"}) for one in memories(3)]
    return live_job(
        f"{queue}:reply:x", candidates=tuple(texts), prior=(3.0, 2.0, 1.0), query=SECRET.planted, **fields
    )


def test_no_word_of_a_memory_is_logged_whatever_goes_wrong(run, valkey_url, queue):
    # Given calls that are right, wrong, and answered by a model that fails in every way
    assert run.call(body(1))[0] == 200
    assert run.call({**body(2), "top_n": SECRET.ascii})[0] == 422
    assert run.call({"query": [SECRET.ascii], "documents": SECRET.chinese})[0] == 422
    for at, mode in enumerate(("wrong", "dead", "hang")):
        run.mode(mode)
        for more in range(4):
            assert run.call(body(f"{at} {more}"))[0] == 200
    run.mode("ok")
    # And jobs that are late, unreadable, for nobody, poison, and one with text where an id should be
    with Redis.from_url(valkey_url) as redis:
        late = planted_job(queue, deadline=time.time() - 5)
        nobody = planted_job(queue, ranker="oracle")
        broken = json.loads(raw(planted_job(queue), queue))
        broken["body"] = broken["body"].replace('"candidates"', f'"{SECRET.ascii}"')
        items = [
            raw(late, queue),
            raw(nobody, queue),
            json.dumps(broken),
            SECRET.planted,
            b"\xff" + SECRET.ascii.encode(),
        ]
        redis.lpush(queue, *items)
        until(lambda: not redis.llen(queue))
    # And a runtime that dies under way, and comes back
    os.killpg(run.runtime.pid, signal.SIGKILL)
    for at in range(3):
        assert run.call(body(f"gone {at}"))[0] == 200
    run.restart()
    until(lambda: answers_model(run), 60)
    # When the worker has ended in good order
    run.worker.terminate()
    run.worker.wait(hurry=lambda: False)
    # Then each line is an event of its own, the kinds that were wanted are there, and no word is
    lines = run.lines()
    causes = {line.get("cause") for line in lines}
    assert {"expired", "unknown_ranker", "invalid_job", "poison_unreadable", "runtime_garbage"} <= causes
    assert {"debug", "info", "warning"} <= {line["level"] for line in lines}
    jobs = {line["job"] for line in lines if line["logger"] == "memsift.gateway" and line.get("job")}
    assert jobs & {line["job"] for line in lines if line["logger"] == "memsift.worker" and "job" in line}
    assert leaks(run.files, SECRET) == {}


def test_the_search_finds_a_line_that_tells(run):
    """Given the fault that the test above is there for."""
    with run.logs[0].open("a") as file:
        print(json.dumps({"event": f"about {SECRET.chinese}"}), file=file)
    assert leaks(run.files, SECRET).keys() == {"worker.log"}
