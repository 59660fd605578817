"""Jobs that a runtime died of, by fingerprint: the second time they are kept from it, on all workers."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any

import orjson
from redis.asyncio import Redis

from memsift_schemas import wire
from memsift_schemas.clock import Clock
from memsift_schemas.job import RerankJob
from memsift_schemas.redis_link import REDIS_FAULTS

# A server crash costs everybody seconds; once may be a coincidence.
BLAMES = 2
# As long as somebody may go on asking the same; a repaired runtime is trusted again afterwards.
LIFETIME_S = 3600
SECRET_LIFETIME_S = 7 * 86_400
# How often workers learn what others have found.
REFRESH_EVERY_S = 1.0
# What makes two jobs the same work; not who asks when, nor by when.
CONTENT = ("query", "candidates", "turns", "ranker")


class Quarantine:
    """Fingerprints of suspects in Redis, with a copy here, so that a batch costs no round trip.

    A fingerprint is a hash keyed with a random secret that lives in Redis as long as the fingerprints do, so
    it says nothing of the text outside of that server.
    """

    def __init__(self, redis: Redis, queue: str, clock: Clock) -> None:
        self._redis = redis
        self._key = f"{queue}:quarantine"
        self._secret_key = f"{queue}:quarantine:secret"
        self._clock = clock
        self._secret = b""
        self._blames: dict[str, int] = {}
        self._refreshed_at = -REFRESH_EVERY_S

    def blames(self, job: RerankJob) -> int:
        """How often a runtime died of this content: 0, 1 (a suspect), or `BLAMES` and more."""
        if not self._blames:
            return 0  # nearly always; nothing is hashed
        return self._blames.get(self._fingerprint(job), 0)

    async def refresh(self) -> None:
        """Learn what all workers know, at most once a second; no change while Redis is away."""
        if self._clock.monotonic() - self._refreshed_at < REFRESH_EVERY_S:
            return
        self._refreshed_at = self._clock.monotonic()
        try:
            found: Any = await self._redis.hgetall(self._key)
            if found and not self._secret:
                await self._learn_secret()
        except REDIS_FAULTS:
            return
        if self._secret:
            self._blames = {name.decode(): int(count) for name, count in found.items()}

    async def blame(self, job: RerankJob) -> int:
        """The runtime died of this job alone; says how often by now. Counts here while Redis is away."""
        try:
            await self._learn_secret()
        except REDIS_FAULTS:
            self._secret = self._secret or secrets.token_bytes(16)
        fingerprint = self._fingerprint(job)
        count = self._blames.get(fingerprint, 0) + 1
        try:
            pipeline = self._redis.pipeline(transaction=True)
            pipeline.hincrby(self._key, fingerprint, 1)
            pipeline.expire(self._key, LIFETIME_S)
            count = max(count, (await pipeline.execute())[0])
        except REDIS_FAULTS:
            pass
        self._blames[fingerprint] = count
        return count

    async def _learn_secret(self) -> None:
        """The secret that all workers share; whoever needs it first makes it."""
        mine = secrets.token_bytes(16)
        await self._redis.set(self._secret_key, mine, nx=True, ex=SECRET_LIFETIME_S)
        shared: Any = await self._redis.get(self._secret_key)
        self._secret = shared or mine

    def _fingerprint(self, job: RerankJob) -> str:
        dumped = wire.dump_job(job)
        content = orjson.dumps([dumped.get(name) for name in CONTENT])
        return hashlib.blake2b(content, key=self._secret, digest_size=16).hexdigest()
