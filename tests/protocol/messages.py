"""Vectors of what a producer pushes: jobs and their messages, clear and sealed; and what a worker refuses."""

from datetime import timedelta, timezone
from unittest import mock

import orjson

from memsift_schemas import Kind, Memory, Turn, keys, message, sealing, wire
from memsift_schemas.sealing import KeyRing
from memsift_workers.drain.delivery import Poison, receive
from tests.samples import NOW, job, memory

QUEUE = "memsift.rerank"
REPLY_TO = keys.reply_key(QUEUE, "vectors")
# Of these vectors alone.
SEAL_KEYS = f"k1:{'0f' * 32},k2:{'f0' * 32}"
# A message names its process; these name none.
ORIGIN = "memsift-1@vectors"


def sent(**fields):
    """A job as a producer sends it, always the same."""
    given = {"id": "6f1e0c5ad1b84b6f9d2c7d8f6a3b1e01", "reply_to": REPLY_TO, **fields}
    return job(3, **given)


JOBS = {
    "a usual question": sent(),
    "as little as can be": sent(
        user="anonymous",
        session="default",
        prior=(),
        candidates=(Memory(id="a", text="The key is under the pot.", created_at=None),),
    ),
    "all that a job can say": sent(
        query="Where is the key, and who keeps it?",
        now=NOW.astimezone(timezone(timedelta(hours=8))),
        turns=(
            Turn(role="user", text='She said "hello".'),
            Turn(role="assistant", text="Over the hills\nand far."),
        ),
        activity=("opened the calendar",),
        candidates=(
            memory(0, kind=Kind.TIME_BOUND),
            memory(1, similarity=None, kind=Kind.PREFERENCE),
            memory(2, created_at=None, kind=Kind.FACT, truncated=True),
        ),
        top_k=5,
        min_relevance=0.25,
        ranker="jev>local",
        trace={"sentry-trace": "0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1"},
        deadline=NOW.timestamp() + 0.4,
    ),
    "in Chinese": sent(
        user="小马",
        query="今天的行程有什么安排？",
        prior=(1.5,),
        candidates=(Memory(id="记忆1", text="周三到上海出差，住在外滩边的酒店。😀", created_at=NOW),),
    ),
    "a warm-up": sent(query="", warm=True, reply_to=None),
}


def names():
    """Every key that a producer uses, by the name of the function that makes it elsewhere."""
    return [
        {
            "queue": queue,
            "user": user,
            "breakerKey": keys.breaker_key(queue),
            "cancelKey": keys.cancel_key(queue, "job"),
            "ownKey": keys.own_key(queue, "runtime"),
            "replyKey": keys.reply_key(queue, "name"),
            "warmKey": keys.warm_key(queue),
            "ownWarmKey": keys.warm_key(queue, "runtime"),
            "workerKey": keys.worker_key(queue, "w@h"),
            "workersKey": keys.workers_key(queue),
            "deckKey": keys.deck_key(queue, user, "s1"),
            "decksKey": keys.decks_key(queue, user),
            "forgottenKey": keys.forgotten_key(queue, user),
        }
        for queue, user in ((QUEUE, "mara"), ("{q}.x", "小马"), (QUEUE, "u" * 128))
    ]


def jobs():
    """Each job in full, as it is encoded, and the message around it."""
    return [
        {
            "name": name,
            "queue": QUEUE,
            "job": one.model_dump(mode="json", exclude={"candidates": {"__all__": {"embedding"}}}),
            "encoded": orjson.loads(wire.encode_job(one)),
            "message": _message(one, wire.encode_job(one)),
        }
        for name, one in JOBS.items()
    ]


def sealed():
    """A job and a ranking sealed with the first key, in the clear beside it."""
    one = JOBS["in Chinese"]
    encoded = wire.encode_job(one)
    ranking = b'{"v":1,"result":{"job_id":"%b","ranking":[{"id":"m","score":1.0}],"source":"model"}}'
    ranking %= one.id.encode()
    ring = KeyRing.of(SEAL_KEYS)
    with mock.patch("os.urandom", lambda count: bytes(range(count))):
        argument = sealing.seal_job(ring, encoded, job_id=one.id, reply_to=one.reply_to)
        reply = sealing.seal_result(ring, ranking, job_id=one.id)
    return {
        "seal_keys": SEAL_KEYS,
        "nonce": bytes(range(sealing.NONCE_BYTES)).hex(),
        "job": {"id": one.id, "clear": encoded.decode(), "argument": argument.decode()},
        "reply": {"id": one.id, "clear": ranking.decode(), "raw": reply.decode()},
    }


def refused():
    """Messages that a worker does not rank, and what it does instead: reply with a cause, or drop them."""
    small = JOBS["as little as can be"]
    usual = orjson.loads(_message(small, wire.encode_job(small)))
    arguments, keywords, embed = orjson.loads(usual["body"])
    told = keywords["job"]
    changed = {
        "no JSON": b"nonsense",
        "no headers": {**usual, "headers": {}},
        "another task": {**usual, "headers": {**usual["headers"], "task": "somebody.elses"}},
        "no list of arguments": {**usual, "body": "{}"},
        "an unknown version": {**told, "v": 2},
        "no candidates": {**told, "candidates": []},
        "a candidate twice": {**told, "candidates": told["candidates"] * 2},
        "a blank query": {**told, "query": " "},
        "a time without a zone": {**told, "now": "2026-03-18T09:00:00"},
        "a prior too long": {**told, "prior": [1.0, 2.0]},
        "a reply list that is none": {**told, "reply_to": "somebody.elses.list"},
        "after its deadline": {**told, "deadline": NOW.timestamp() - 1},
        "a warm-up under the wrong task": {**told, "warm": True, "query": ""},
    }
    vectors = []
    for name, change in changed.items():
        if isinstance(change, bytes):
            raw = change
        elif "headers" in change:
            raw = orjson.dumps(change)
        else:
            body = orjson.dumps([arguments, {"job": change}, embed]).decode()
            raw = orjson.dumps({**usual, "body": body})
        vectors.append({"name": name, "raw": raw.decode(), **_fate(raw)})
    return vectors


def _message(one, encoded):
    raw = message.build(one, encoded, QUEUE).decode()
    (ours,) = {orjson.loads(raw)["headers"]["origin"]}
    return raw.replace(ours, ORIGIN)


def _fate(raw):
    try:
        delivery = receive(raw, queue=QUEUE, now=NOW.timestamp())
    except Poison as poison:
        return {"dropped": poison.why}
    return {"cause": delivery.refused, "replied": delivery.reply_to is not None}
