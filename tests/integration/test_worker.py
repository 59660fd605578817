"""A real worker: our producer, a stock Celery client, monitors, signals, poison."""

import asyncio
import base64
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime

import orjson
import psutil
import pytest
from celery import Celery
from celery.exceptions import TaskRevokedError
from redis import Redis

from memsift_producer import Reranker
from memsift_schemas import Cause, Source, message, wire
from tests.samples import job, memories

pytestmark = pytest.mark.stack


def live_job(reply_to=None, **fields):
    now = time.time()
    live = {"deadline": now + 30, "sent_at": now, "now": datetime.now(UTC), "reply_to": reply_to}
    return job(**{**live, **fields})


def raw(whole, queue):
    return message.build(whole, wire.encode_job(whole), queue)


def replies(redis, reply_to, count, seconds=20):
    found = []
    until = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < until:
        popped = redis.blpop([reply_to], timeout=0.5)
        if popped:
            found.append(wire.decode_reply(popped[1]))
    return found


async def test_our_producer_gets_the_models_ranking(running):
    async with Reranker.from_url(running.url, queue=running.queue, deadline_ms=5_000) as reranker:
        asked = [reranker.rerank(query="Where is the key?", memories=memories(8)) for _ in range(20)]
        rerankings = await asyncio.gather(*asked)
        assert {one.source for one in rerankings} == {Source.MODEL}
        first = rerankings[0].result
        assert {"prefilter", "queue", "place", "rank", "total"} <= set(first.timings_ms)
        again = await reranker.rerank(query="Where is the key?", memories=memories(8))
        assert again.result.ranking == first.ranking
        unknown = await reranker.rerank(query="key?", memories=memories(3), ranker="oracle")
        assert unknown.cause is Cause.UNKNOWN_RANKER


@pytest.fixture
def stock(running):
    """A Celery app that knows nothing of ours."""
    app = Celery("somebody-elses", broker=running.url, backend=running.url)
    yield app
    app.close()


def test_a_stock_celery_client_gets_a_result(stock, running):
    whole = live_job(turns=(), query="钥匙在哪里？")
    data = {**wire.dump_job(whole)}
    task_id = data["id"]
    sent = stock.send_task(message.TASK_NAME, kwargs={"job": data}, queue=running.queue, task_id=task_id)
    result = sent.get(timeout=10)
    assert result["source"] == "model"
    assert sorted(place["id"] for place in result["ranking"]) == sorted(m.id for m in whole.candidates)
    assert sent.successful()
    with Redis.from_url(running.url) as redis:
        assert 0 < redis.ttl(f"celery-task-meta-{task_id}") <= 60


def test_a_stock_client_may_send_no_more_than_query_and_candidates(stock, running):
    data = {name: wire.dump_job(live_job())[name] for name in ("query", "candidates")}
    sent = stock.send_task(message.TASK_NAME, kwargs={"job": data}, queue=running.queue)
    assert sent.get(timeout=10)["job_id"] == sent.id


def test_a_stock_client_sees_a_refusal_as_an_exception(stock, running):
    data = {**wire.dump_job(live_job()), "query": " "}
    sent = stock.send_task(message.TASK_NAME, kwargs={"job": data}, queue=running.queue, task_id=data["id"])
    with pytest.raises(Exception, match="invalid_job") as caught:
        sent.get(timeout=10)
    assert type(caught.value).__name__ == "JobRefused"


def test_a_stock_client_sees_an_expired_job_as_revoked(stock, running):
    data = wire.dump_job(live_job(deadline=time.time() - 5))
    sent = stock.send_task(message.TASK_NAME, kwargs={"job": data}, queue=running.queue, task_id=data["id"])
    with pytest.raises(TaskRevokedError):
        sent.get(timeout=10)


def test_remote_control_answers_and_names_the_drained_queue(stock, running):
    inspect = stock.control.inspect(timeout=2)
    assert list(inspect.ping().values()) == [{"ok": "pong"}]
    ((queue, own),) = inspect.active_queues().values()
    assert queue["name"] == running.queue
    assert own["name"].startswith(f"{running.queue}:own:")
    for one in (queue, own):
        assert {"exclusive", "durable", "auto_delete", "no_ack"} <= one.keys()  # what a page of Flower shows


def watch(receiver):
    with contextlib.suppress(TimeoutError):
        receiver.capture(limit=None, timeout=10)


def wait_until(condition, seconds=10):
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.02)


def test_monitors_see_each_job_and_no_text(stock, running, mailbox):
    seen = []
    secret = "xyzzy-private"
    good = live_job(mailbox(running.queue), query=f"{secret}?")
    late = live_job(mailbox(running.queue), deadline=time.time() - 5)
    with Redis.from_url(running.url) as redis, stock.connection() as connection:
        receiver = stock.events.Receiver(connection, handlers={"*": seen.append})
        watching = threading.Thread(target=watch, args=(receiver,))
        watching.start()
        wait_until(lambda: seen)  # the first heartbeat: from now on nothing is missed
        redis.lpush(running.queue, raw(good, running.queue), raw(late, running.queue))
        wait_until(lambda: sum(event["type"].startswith("task-") for event in seen) >= 5)
        receiver.should_stop = True
        watching.join()
    kinds = {uuid_: [e["type"] for e in seen if e.get("uuid") == uuid_] for uuid_ in (good.id, late.id)}
    assert kinds[good.id] == ["task-received", "task-started", "task-succeeded"]
    assert kinds[late.id] == ["task-received", "task-revoked"]
    received = next(e for e in seen if e["type"] == "task-received" and e["uuid"] == good.id)
    assert received["name"] == message.TASK_NAME
    assert received["kwargs"] == "{candidates: 6, turns: 0, top_k: 3}"
    assert received["routing_key"] == running.queue
    assert secret not in str(seen)
    assert "Mara" not in str(seen)


def test_poison_between_good_jobs_harms_nobody(running, mailbox):
    good = [live_job(mailbox(running.queue)) for _ in range(5)]
    foreign = orjson.loads(raw(live_job(), running.queue))
    foreign["headers"]["task"] = "somebody.elses"
    noise = base64.b64encode(os.urandom(5_000))
    poison = [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"headers":{}}',
        noise,
        orjson.dumps(foreign),
        b"x" * 50_000_000,
    ]
    with Redis.from_url(running.url) as redis:
        for whole, item in zip(good + good[:3], poison, strict=True):
            redis.lpush(running.queue, item)
            redis.lpush(running.queue, raw(whole, running.queue))
        found = replies(redis, mailbox(running.queue), 8)
    assert {reply.job_id for reply in found} == {whole.id for whole in good}
    assert all(not hasattr(reply, "cause") or reply.cause is None for reply in found)


def test_a_thousand_jobs_at_once_are_all_answered_in_order(running, mailbox):
    jobs = [live_job(mailbox(running.queue)) for _ in range(1_000)]
    with Redis.from_url(running.url) as redis:
        redis.lpush(running.queue, *(raw(whole, running.queue) for whole in jobs))
        found = [reply.job_id for reply in replies(redis, mailbox(running.queue), 1_000, seconds=60)]
    assert sorted(found) == sorted(whole.id for whole in jobs)
    place = {whole.id: at for at, whole in enumerate(jobs)}
    # Four batches of sixteen are in flight at once, and the first to end answers first.
    assert sum(abs(place[one] - at) for at, one in enumerate(found)) / len(found) <= 4 * 16


def test_sigterm_finishes_what_is_in_flight_and_leaves_the_rest(start_worker, mailbox):
    running = start_worker(scripted_ms=1_000, batch_max=4, batches_in_flight=2, batch_wait_ms=0)
    jobs = [live_job(mailbox(running.queue)) for _ in range(100)]
    with Redis.from_url(running.url) as redis:
        redis.lpush(running.queue, *(raw(whole, running.queue) for whole in jobs))
        found = replies(redis, mailbox(running.queue), 1)
        worker = psutil.Process(running.info.pid)
        worker.send_signal(signal.SIGTERM)
        worker.wait(20)
        found += replies(redis, mailbox(running.queue), 100, seconds=1)
        left = redis.llen(running.queue)
        assert not redis.exists(f"{running.queue}:worker:memsift@{os.uname().nodename}")
    assert left > 0
    assert len(found) + left == 100
    assert len({reply.job_id for reply in found}) == len(found)


def test_a_killed_worker_loses_only_what_was_in_flight(start_worker, mailbox):
    running = start_worker(scripted_ms=5_000, batch_max=4, batches_in_flight=1, batch_wait_ms=0)
    with Redis.from_url(running.url) as redis:
        redis.lpush(running.queue, *(raw(live_job(mailbox(running.queue)), running.queue) for _ in range(10)))
        until = time.monotonic() + 10
        while redis.llen(running.queue) > 6 and time.monotonic() < until:
            time.sleep(0.05)
        psutil.Process(running.info.pid).kill()
        assert redis.llen(running.queue) == 6


def test_celerys_own_lost_connection_leaves_the_drain_alone(start_worker, mailbox):
    running = start_worker()
    with Redis.from_url(running.url) as redis:
        for client in redis.client_list():
            if client["addr"] != redis.client_info()["addr"]:
                redis.client_kill_filter(_id=client["id"])
        jobs = [live_job(mailbox(running.queue)) for _ in range(20)]
        redis.lpush(running.queue, *(raw(whole, running.queue) for whole in jobs))
        found = replies(redis, mailbox(running.queue), 20)
    # A pop that was answered just as its connection died is lost; its callers would fall back.
    assert len(found) >= 20 - 16
    assert psutil.pid_exists(running.info.pid)


@pytest.mark.parametrize(
    ("variable", "value"),
    [("MEMSIFT_BATCH_MAX", "lots"), ("MEMSIFT_STRATEGY", "guess"), ("MEMSIFT_REDIS_URL", "http://nowhere")],
)
def test_a_wrong_setting_ends_the_worker_at_start_and_is_named(variable, value):
    command = [sys.executable, "-m", "celery", "-A", "memsift_workers.app", "worker", "-P", "solo"]
    environment = {**os.environ, "MEMSIFT_RUNTIME": "scripted", variable: value}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert variable in ended.stderr + ended.stdout


def test_a_model_that_is_not_there_ends_the_worker_with_the_remedy(tmp_path):
    command = [sys.executable, "-m", "celery", "-A", "memsift_workers.app", "worker", "-P", "solo"]
    absent = str(tmp_path / "absent.gguf")
    environment = {**os.environ, "MEMSIFT_RUNTIME": "embedded", "MEMSIFT_MODEL": absent}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert "memsift model pull" in ended.stderr + ended.stdout
