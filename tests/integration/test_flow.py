"""Real workers under load and faults: cancelled and hopeless jobs, rescue, a stop without Redis."""

import signal
import time

import orjson
import psutil
import pytest
from redis import Redis

from memsift_ops.stack import Stack
from memsift_schemas import Cause
from tests.integration.conftest import start
from tests.integration.test_worker import live_job, raw, replies, wait_until

pytestmark = pytest.mark.stack


def push(redis, running, *jobs):
    redis.lpush(running.queue, *(raw(whole, running.queue) for whole in jobs))


def card(redis, queue):
    (key,) = redis.scan_iter(f"{queue}:worker:*")
    return orjson.loads(redis.get(key))


def test_a_cancelled_job_is_answered_to_nobody_and_its_neighbours_are(running, mailbox):
    before = time.time() - 1
    gone, kept = (live_job(mailbox(running.queue), sent_at=before) for _ in range(2))
    with Redis.from_url(running.url) as redis:
        redis.set(f"{running.queue}:cancel:{gone.id}", 1, px=5_000)
        push(redis, running, gone, kept)
        found = replies(redis, mailbox(running.queue), 2, seconds=2)
    assert [reply.job_id for reply in found] == [kept.id]


def test_a_long_batch_that_nobody_waits_for_makes_room(start_worker, mailbox):
    running = start_worker(scripted_ms=20_000, batches_in_flight=1, batch_wait_ms=0)
    with Redis.from_url(running.url) as redis:
        gone = live_job(mailbox(running.queue))
        push(redis, running, gone)
        wait_until(lambda: card(redis, running.queue)["in_flight"] == 1)
        redis.set(f"{running.queue}:cancel:{gone.id}", 1, px=5_000)
        wait_until(lambda: card(redis, running.queue)["in_flight"] == 0)
        # An idle worker has room taken for its next pop; what counts is that it pops again.
        push(redis, running, live_job(mailbox(running.queue), query=" x"))
        wait_until(lambda: not redis.llen(running.queue), seconds=5)
        assert redis.llen(running.queue) == 0


def test_a_hopeless_job_is_refused_at_once(start_worker, mailbox):
    running = start_worker(scripted_ms=400, batch_wait_ms=0, batches_in_flight=1)
    with Redis.from_url(running.url) as redis:
        for at in range(6):  # each another question: what was asked before is answered from memory
            push(redis, running, live_job(mailbox(running.queue), query=f"Where is key {at}?"))
            assert replies(redis, mailbox(running.queue), 1)
        hopeless = live_job(mailbox(running.queue), query="And now?", deadline=time.time() + 0.3)
        push(redis, running, hopeless)
        (refusal,) = replies(redis, mailbox(running.queue), 1, seconds=5)
        assert (refusal.job_id, refusal.cause) == (hopeless.id, Cause.TOO_LATE)
        time.sleep(1.2)  # the next card
        shown = card(redis, running.queue)
    assert shown["batch_ms"] >= 400
    assert shown["jobs_per_s"] is None  # one job at a time says nothing about full batches
    assert shown["limit"] == 16


def test_no_more_jobs_are_in_the_runtime_than_the_limit(start_worker, mailbox):
    running = start_worker(scripted_ms=3_000, batch_wait_ms=0, runtime_concurrency=24)
    with Redis.from_url(running.url) as redis:
        push(redis, running, *(live_job(mailbox(running.queue)) for _ in range(60)))
        wait_until(lambda: redis.llen(running.queue) <= 36, seconds=2)
        time.sleep(0.3)
        assert redis.llen(running.queue) == 36


def test_jobs_of_a_killed_worker_are_answered_by_another(queue, mailbox):
    with Stack(queue) as stack:
        slow = start(stack, queue, rescue=1, scripted_ms=20_000, batches_in_flight=1)
        jobs = [live_job(mailbox(queue)) for _ in range(5)]
        with Redis.from_url(slow.url) as redis:
            push(redis, slow, *jobs)
            wait_until(lambda: not redis.llen(queue))
            victim = psutil.Process(slow.info.pid)
            with pytest.MonkeyPatch.context() as patch:
                for name, value in {"RUNTIME": "scripted", "SCRIPTED_MS": "15", "RESCUE": "1"}.items():
                    patch.setenv(f"MEMSIFT_{name}", value)
                stack.start_worker("second")
            victim.kill()
            found = replies(redis, mailbox(queue), 5)
            left = list(redis.scan_iter(f"{queue}:rescue:*", _type="list"))
    assert {reply.job_id for reply in found} == {whole.id for whole in jobs}
    assert left == []


@pytest.mark.parametrize("dead", [True, False], ids=["killed", "hanging"])
def test_a_stop_while_redis_is_away_ends_soon(start_worker, dead):
    running = start_worker()
    worker = psutil.Process(running.info.pid)
    port = running.url.split(":")[2].split("/")[0]
    # This test's own: others that the run shares are children of the same process.
    (valkey,) = (child for child in worker.parent().children() if port in " ".join(child.cmdline()))
    try:
        if dead:
            valkey.kill()
        else:
            valkey.suspend()
        time.sleep(0.5)
        worker.send_signal(signal.SIGTERM)
        worker.wait(12)
    finally:
        if not dead:
            valkey.resume()
