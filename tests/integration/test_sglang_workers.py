"""Worker processes and a real SGLang on the CPU: the limit that they share, and its death."""

import contextlib
import threading
import time
import urllib.request
import uuid

import orjson
import pytest
from redis import Redis

from memsift_schemas import Cause
from memsift_schemas.result import Source
from memsift_workers.flow.shared_limit import runtime_key
from tests.integration.servers import until
from tests.integration.test_worker import live_job, raw, replies

pytestmark = [
    pytest.mark.sglang,
    # The first test also waits for the installation, if there is none yet, and for the start.
    pytest.mark.timeout(900),
]

LIMIT, JOBS = 3, 12
SECONDS = 120
READY = "ready: jobs are taken"


@pytest.fixture
def begin(servers, valkey_url, queue, sglang_process):
    """Begin a worker that asks the real server, two prompts per job."""
    asks = {"runtime": "sglang", "sglang_url": sglang_process.url, "strategy": "listwise"}
    return lambda **settings: servers.begin_worker(valkey_url, queue, **{**asks, **settings})


def says(worker, words):
    """Wait until a worker has said this."""
    until(lambda: any(words in line for line in worker.last_lines(200)), SECONDS, worker)


def ask(redis, queue, mailbox, count=1):
    """Push jobs of a user each, so that no cache answers one."""
    for _ in range(count):
        whole = live_job(mailbox, user=uuid.uuid4().hex, deadline=time.time() + SECONDS)
        redis.lpush(queue, raw(whole, queue))


class Watching:
    """What the leases and the server say is under way, again and again."""

    def __init__(self, redis, key, url):
        self.leases, self.running = [], []
        self._redis, self._key, self._url = redis, key, url
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self._done.wait(0.02):
            members = self._redis.zrange(self._key, 0, -1)
            self.leases.append(sum(int(member.rpartition(b":")[2]) for member in members))
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"{self._url}/v1/loads", timeout=5) as said,
            ):
                loads = orjson.loads(said.read())["loads"]
                self.running.append(
                    sum(load["num_running_reqs"] + load["num_waiting_reqs"] for load in loads)
                )

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join(10)


def test_two_workers_share_one_limit(begin, valkey_url, queue, mailbox, sglang_process):
    """Given two workers that each would take more, when jobs wait, then the server never has more of them."""
    # A scorecard is written token by token, so its request stays in the server for a while.
    settings = {"runtime_concurrency": LIMIT, "batch_max": 2, "batch_wait_ms": 0, "batches_in_flight": 4}
    for worker in [begin(strategy="scorecard", **settings) for _ in range(2)]:
        says(worker, READY)
    box, key = mailbox(queue), runtime_key(queue, sglang_process.url)
    with Redis.from_url(valkey_url) as redis, Watching(redis, key, sglang_process.url) as seen:
        ask(redis, queue, box, JOBS)
        found = replies(redis, box, JOBS, seconds=SECONDS)
        until(lambda: not redis.zcard(key))
    assert len(found) == JOBS
    assert max(seen.leases) == LIMIT
    assert 1 < max(seen.running) <= LIMIT


def test_a_killed_server_costs_answers_and_no_worker(begin, valkey_url, queue, mailbox, sglang_process):
    worker = begin()
    says(worker, READY)
    box = mailbox(queue)
    with Redis.from_url(valkey_url) as redis:

        def answer():
            ask(redis, queue, box)
            (reply,) = replies(redis, box, 1, seconds=SECONDS)
            return reply

        assert answer().source is Source.MODEL
        sglang_process.kill()
        try:
            assert answer().cause is Cause.RUNTIME_UNAVAILABLE
            late = begin()
            says(late, "no jobs are taken before the model's server answers")
        finally:
            sglang_process.start()
        says(late, READY)
        assert [answer().source for _ in range(3)] == [Source.MODEL] * 3
    assert (worker.returncode, late.returncode) == (None, None)
