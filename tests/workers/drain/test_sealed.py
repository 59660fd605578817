"""A worker with keys takes sealed jobs alone; one without says which variable is missing."""

import base64
import logging

import orjson
import pytest

from memsift_schemas import Cause, Refusal, message, sealing, wire
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.batch import BatchHandler
from memsift_workers.drain.delivery import receive
from memsift_workers.drain.popped import Popped
from memsift_workers.rankers.base import Scores
from tests.samples import NOW, job

KEYS = "k1:" + "07" * 32
RING = KeyRing.of(KEYS)
QUEUE = "q"
REPLY = f"{QUEUE}:reply:abc"
SECRET = "xyzzy-secret"


def raw(whole, ring=RING, queue=QUEUE, **outer):
    encoded = sealing.seal_job(ring, wire.encode_job(whole), job_id=whole.id, reply_to=whole.reply_to)
    return message.build(whole, orjson.dumps({**orjson.loads(encoded), **outer}), queue)


def deliver(item, ring=RING):
    return receive(item, queue=QUEUE, now=NOW.timestamp(), ring=ring)


def test_a_sealed_job_is_delivered():
    whole = job(reply_to=REPLY)
    delivery = deliver(raw(whole))
    assert (delivery.job, delivery.refused, delivery.reply_to) == (whole, None, REPLY)


def test_celery_tools_still_read_the_headers_and_nothing_else():
    item = raw(job(reply_to=REPLY, query=SECRET))
    headers = orjson.loads(item)["headers"]
    assert (headers["task"], headers["kwargsrepr"]) == (
        "memsift.rerank",
        "{candidates: 6, turns: 0, top_k: 3}",
    )
    assert SECRET.encode() not in item


@pytest.mark.parametrize(
    ("sealing_ring", "ring", "why"),
    [
        (None, RING, "the job is not sealed and MEMSIFT_SEAL_KEYS is set here"),
        (RING, None, "the job is sealed: set MEMSIFT_SEAL_KEYS"),
        (KeyRing({"k9": b"9" * 32}), RING, "the key k9, which MEMSIFT_SEAL_KEYS does not hold"),
    ],
)
def test_keys_on_one_side_alone_are_refused_at_once_with_the_reason(sealing_ring, ring, why):
    delivery = deliver(raw(job(reply_to=REPLY), sealing_ring), ring)
    assert (delivery.job, delivery.refused, delivery.reply_to) == (None, Cause.INVALID_JOB, REPLY)
    assert why in delivery.why


def test_a_body_moved_into_another_message_is_refused():
    one, other = job(reply_to=REPLY), job(reply_to=REPLY)
    body = orjson.loads(raw(one))["body"]
    moved = orjson.dumps({**orjson.loads(raw(other)), "body": body})
    assert deliver(moved).refused is Cause.INVALID_JOB


def test_a_job_whose_reply_list_was_exchanged_is_refused_and_the_other_list_is_told_nothing():
    delivery = deliver(raw(job(reply_to=REPLY), reply_to=f"{QUEUE}:reply:attacker"))
    assert (delivery.refused, delivery.reply_to) == (Cause.INVALID_JOB, None)


class Reasoning:
    """A ranker whose model quotes what it has read."""

    name, model = "local", "fake"

    async def rank(self, jobs, *, timeout):
        return [Scores(values=tuple(range(len(one.candidates))), reason=SECRET) for one in jobs]


class Silent:
    def send(self, kind, **fields):
        pass


@pytest.fixture
def handler(redis, queue, clock):
    clock.now = NOW.timestamp()
    settings = WorkerSettings(queue=queue, seal_keys=KEYS)
    return BatchHandler(
        redis=redis, settings=settings, rankers={"local": Reasoning()}, clock=clock, events=Silent()
    )


async def test_the_ranking_is_sealed_and_so_is_a_celery_result(handler, redis, queue, clock):
    whole = job(reply_to=f"{queue}:reply:t")
    item = orjson.loads(raw(whole, queue=queue))
    item["headers"]["ignore_result"] = False
    await handler.handle(Popped([orjson.dumps(item)], clock.time()))
    (reply,) = await redis.lrange(whole.reply_to, 0, -1)
    meta = await redis.get(f"celery-task-meta-{whole.id}")
    assert SECRET.encode() not in reply + meta
    assert wire.decode_reply(sealing.open_reply(RING, reply)).reason == SECRET
    stored = orjson.dumps(orjson.loads(meta)["result"])
    assert wire.decode_reply(sealing.open_reply(RING, stored)).job_id == whole.id


async def test_a_refused_job_is_told_and_logged_without_its_text(handler, redis, queue, clock, caplog):
    whole = job(reply_to=f"{queue}:reply:t", query=SECRET)
    item = orjson.loads(raw(whole, queue=queue))
    args, kwargs, embed = orjson.loads(item["body"])
    kwargs["job"]["sealed"] = base64.b64encode(b"x" * 60).decode()
    item["body"] = orjson.dumps([args, kwargs, embed]).decode()
    with caplog.at_level(logging.WARNING):
        items = [orjson.dumps(item), raw(job(query=SECRET), None, queue)]
        await handler.handle(Popped(items, clock.time()))
    (reply,) = await redis.lrange(whole.reply_to, 0, -1)
    assert wire.decode_reply(reply) == Refusal(job_id=whole.id, cause=Cause.INVALID_JOB)
    assert "MEMSIFT_SEAL_KEYS" in caplog.text
    assert SECRET not in caplog.text
