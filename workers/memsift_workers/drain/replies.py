"""Answers on their way back: one pipeline for a whole batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson
from redis.asyncio import Redis

from memsift_schemas import sealing, wire
from memsift_schemas.result import Cause, Refusal, RerankResult
from memsift_schemas.sealing import KeyRing
from memsift_workers.drain.delivery import Delivery

Reply = RerankResult | Refusal
# Celery's word for a job that ran out of time, and whether it did; else somebody called it back.
REVOKED = {Cause.EXPIRED: True, Cause.TOO_LATE: True, Cause.CANCELLED: False}


async def send(
    redis: Redis,
    answered: list[tuple[Delivery, Reply]],
    *,
    reply_ttl_ms: int,
    result_ttl_s: int,
    ring: KeyRing | None = None,
    also: Sequence[Callable[[Any], None]] = (),
) -> None:
    """Push every reply to where its sender waits, in one round trip.

    Args:
        redis: the connection.
        answered: deliveries and their replies.
        reply_ttl_ms: how long an unread reply list lives.
        result_ttl_s: how long a Celery result lives.
        ring: seals rankings.
        also: put further commands into the same pipeline.

    Raises:
        RedisError: some or all could not be sent; their callers fall back.
    """
    pipeline = redis.pipeline(transaction=False)
    # A batch holds several jobs of each frontend: one push for all of a list. Where all share one list, as in
    # `memsift bench drain`, that takes 328 -> 305 us of the drain's CPU per job.
    pushed: dict[str, list[bytes]] = {}
    for delivery, reply in answered:
        if delivery.reply_to is not None:
            pushed.setdefault(delivery.reply_to, []).append(_encoded(reply, ring))
        if delivery.envelope.wants_result:
            key = f"celery-task-meta-{delivery.envelope.id}"
            meta = celery_result(delivery.envelope.id, reply, ring)
            pipeline.set(key, meta, ex=result_ttl_s)
            pipeline.publish(key, meta)
    for reply_to, encoded in pushed.items():
        pipeline.rpush(reply_to, *encoded)
        pipeline.pexpire(reply_to, reply_ttl_ms)
    for add in also:
        add(pipeline)
    if len(pipeline):
        await pipeline.execute()


def _encoded(reply: Reply, ring: KeyRing | None) -> bytes:
    encoded = wire.encode_reply(reply)
    if isinstance(reply, Refusal):
        return encoded
    return sealing.seal_result(ring, encoded, job_id=reply.job_id)


def celery_result(task_id: str, reply: Reply, ring: KeyRing | None = None) -> bytes:
    """A reply in the form in which Celery's Redis result backend stores one.

    `AsyncResult.get()` returns the result as a dict, or raises for a refusal: `TaskRevokedError` when the
    job expired or was about to, an exception named `JobRefused` otherwise. With a ring, the dict is the
    sealed reply.
    """
    status: str
    result: Any
    if isinstance(reply, RerankResult):
        status = "SUCCESS"
        result = orjson.loads(_encoded(reply, ring)) if ring else reply.model_dump(mode="json")
    elif REVOKED.get(reply.cause):
        status = "REVOKED"
        result = {
            "exc_type": "TaskRevokedError",
            "exc_message": ["expired"],
            "exc_module": "celery.exceptions",
        }
    else:
        status = "FAILURE"
        result = {"exc_type": "JobRefused", "exc_message": [reply.cause.value], "exc_module": "memsift"}
    return orjson.dumps(
        {
            "status": status,
            "result": result,
            "traceback": None,
            "children": [],
            "date_done": datetime.now(UTC).isoformat(),
            "task_id": task_id,
        }
    )
