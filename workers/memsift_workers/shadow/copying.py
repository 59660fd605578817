"""Copies of answered jobs, on a list of their own; sent after the answer, and never waited for."""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import orjson
from redis.asyncio import Redis

from memsift_schemas import sealing, wire
from memsift_schemas.errors import InvalidInput
from memsift_schemas.job import DEFAULT_SESSION, RerankJob
from memsift_schemas.keys import shadow_key, shadow_tally_key
from memsift_schemas.redis_link import REDIS_FAULTS, tell
from memsift_schemas.result import RerankResult
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain.sieve import Answered
from memsift_workers.shadow import tally

log = logging.getLogger("memsift.worker")

# What nobody has come to within a minute is dropped, and so is the oldest of more than these.
WAIT_MS = 60_000
MOST_WAITING = 200
# Batches whose copies are on their way to a Redis that is slow; the copies of more are left out.
MOST_SENDING = 4


@dataclass(frozen=True, slots=True)
class Copy:
    """A job that was answered.

    Attributes:
        job: of no session, so that no deck knows of it.
        live: the answer.
    """

    job: RerankJob = field(repr=False)
    live: RerankResult = field(repr=False)


class Copies:
    """Sends a share of what the model answered.

    Which jobs it takes depends on their ids alone, so it takes the same ones whoever answered.

    Args:
        redis: the connection.
        settings: the worker's; `shadow_share` says how many.
    """

    def __init__(self, redis: Redis, settings: WorkerSettings) -> None:
        self._redis = redis
        self._share = settings.shadow_share
        self._list = shadow_key(settings.queue)
        self._tally = shadow_tally_key(settings.queue)
        self._ring = KeyRing.of(settings.seal_keys)
        self._sending: set[asyncio.Task[None]] = set()

    def offer(self, answered: Sequence[Answered]) -> None:
        """Take a batch's answers. Returns at once; nothing that is wrong with a copy shows."""
        chosen = [
            Copy(delivery.job, reply)
            for delivery, reply in answered
            if isinstance(reply, RerankResult) and delivery.job is not None and self._takes(reply.job_id)
        ]
        if chosen and len(self._sending) < MOST_SENDING:
            task = asyncio.create_task(self._send(chosen))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    def _takes(self, job_id: str) -> bool:
        return zlib.crc32(job_id.encode()) < self._share * 2**32

    async def _send(self, chosen: Sequence[Copy]) -> None:
        try:
            pipeline = self._redis.pipeline(transaction=False)
            pipeline.lpush(self._list, *(encode(copy, self._ring) for copy in chosen))
            pipeline.ltrim(self._list, 0, MOST_WAITING - 1)
            pipeline.pexpire(self._list, WAIT_MS)
            tally.count(pipeline, self._tally, tally.SENT, len(chosen))
            await pipeline.execute()
        except (*REDIS_FAULTS, InvalidInput) as fault:
            log.debug("%d copies for the shadow ranker are lost (%s)", len(chosen), tell(fault))


def encode(copy: Copy, ring: KeyRing | None) -> bytes:
    """A list item: job and answer, both sealed where jobs are.

    Raises:
        JobTooLarge: by the few bytes that a session's name had less.
    """
    job = copy.job.model_copy(update={"session": DEFAULT_SESSION, "reply_to": None, "trace": {}})
    sealed = sealing.seal_job(ring, wire.encode_job(job), job_id=job.id, reply_to=None)
    live = sealing.seal_result(ring, wire.encode_reply(copy.live), job_id=job.id)
    return orjson.dumps({"id": job.id, "job": orjson.Fragment(sealed), "live": orjson.Fragment(live)})


def decode(raw: bytes, ring: KeyRing | None) -> Copy:
    """Read a list item.

    Raises:
        InvalidInput: it is none, or sealed with a key that is not here.
    """
    try:
        data = orjson.loads(raw)
        job_id, job, live = str(data["id"]), data["job"], orjson.dumps(data["live"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        raise InvalidInput("is no copy of a job") from None
    read = wire.load_job(sealing.open_job(ring, job, job_id=job_id))
    reply = wire.decode_reply(sealing.open_reply(ring, live))
    if not isinstance(reply, RerankResult) or reply.job_id != read.id or read.warm:
        raise InvalidInput("holds no answer to its job")
    return Copy(read, reply)
