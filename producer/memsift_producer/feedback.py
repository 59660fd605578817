"""Feedback on an answer: which memories it really used, counted by ranker and prompt version, and logged."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError
from redis.asyncio import Redis

from memsift_producer.meter import Meter
from memsift_producer.told import FeedbackOutcome
from memsift_schemas.clock import Clock
from memsift_schemas.errors import InvalidInput, describe
from memsift_schemas.hits import HOUR_S, KEPT_S, Picked, Series, hit, judged
from memsift_schemas.job import MAX_CANDIDATES
from memsift_schemas.keys import digest, hits_key, picked_key
from memsift_schemas.memory import DEFERRED, Id
from memsift_schemas.redis_link import REDIS_FAULTS, tell
from memsift_schemas.result import RerankResult

if TYPE_CHECKING:
    from memsift_producer.decisions import Decisions

log = logging.getLogger("memsift.producer")

_IDS = TypeAdapter(tuple[Id, ...], config=DEFERRED)
# Calls whose picks are sent in one round trip; feedback comes seconds later at the earliest.
FLUSH_EVERY_S = 0.05
# More do not wait for a Redis that is away: feedback on them will be `unknown`.
MOST_WAITING = 4_096
# What a caller waits for at most.
COUNT_WITHIN_S = 1.0
# Scripts, since the connection is one that commands wait for each other on, which a pipeline cannot.
# KEYS: one a call. ARGV: seconds to live, then what each picked.
_KEEP = "for at, key in ipairs(KEYS) do redis.call('SET', key, ARGV[at + 1], 'EX', ARGV[1]) end"
# KEYS: the hour's hash. ARGV: seconds to live, then the fields that grow by one.
_ADD = """
for at = 2, #ARGV do redis.call('HINCRBY', KEYS[1], ARGV[at], 1) end
redis.call('EXPIRE', KEYS[1], ARGV[1])
"""


class Feedback:
    """Remembers on Redis what calls picked, and counts what is said of it.

    Args:
        redis: the connection.
        queue: whose calls.
        ttl_s: how long picks are remembered; 0: not at all.
        clock: the Redis server's.
        decisions: the decision log, if there is one.
        meter: is told of what was counted.
    """

    def __init__(
        self,
        redis: Redis,
        queue: str,
        *,
        ttl_s: int,
        clock: Clock,
        decisions: Decisions | None,
        meter: Meter,
    ) -> None:
        self._redis = redis
        self._keep = redis.register_script(_KEEP)
        self._add = redis.register_script(_ADD)
        self._queue = queue
        self._ttl_s = ttl_s
        self._clock = clock
        self._decisions = decisions
        self._meter = meter
        self._waiting: dict[str, Picked] = {}
        self._some = asyncio.Event()
        self.forgotten = 0

    def answered(self, result: RerankResult, user: str) -> None:
        """Remember what a call picked, soon; nothing waits for it."""
        if not self._ttl_s or not result.ranking:
            return
        if len(self._waiting) >= MOST_WAITING:
            self.forgotten += 1
            return
        self._waiting[result.job_id] = Picked.of(result, user)
        self._some.set()

    async def run(self) -> None:
        """Write what calls picked, for ever; ends by being cancelled."""
        while True:
            await self._some.wait()
            await asyncio.sleep(FLUSH_EVERY_S)
            await self.flush()

    async def flush(self) -> None:
        """Write what calls picked up to now. Never raises for a fault of Redis; what it loses is counted."""
        picked, self._waiting = self._waiting, {}
        self._some.clear()
        if not picked:
            return
        keys = [picked_key(self._queue, job_id) for job_id in picked]
        try:
            await self._keep(
                keys=keys, args=[self._ttl_s, *(one.model_dump_json() for one in picked.values())]
            )
        except REDIS_FAULTS as fault:
            self.forgotten += len(picked)
            log.debug("feedback on %d calls will not be known (%s)", len(picked), tell(fault))

    async def __call__(
        self, job_id: str, *, used: Sequence[str] = (), missed: Sequence[str] = (), user: str | None = None
    ) -> FeedbackOutcome:
        """Tell which memories an answer used. From any process, as long as its call is remembered; once.

        Args:
            job_id: `reranking.result.job_id`.
            used: ids of memories that the answer really used; empty when it used none.
            missed: ids of memories that should have been in the prompt and were not.
            user: whose call it must have been; None for anybody's.

        Returns:
            Whether it was counted.

        Raises:
            InvalidInput: an id is none. Operational faults never raise.
        """
        _check(job_id, used, missed, user)
        outcome = await self._count(job_id, used, missed, user) if self._ttl_s else FeedbackOutcome.OFF
        # One that cannot be told to be this user's must not label another's call.
        is_known = outcome in {FeedbackOutcome.COUNTED, FeedbackOutcome.OFF}
        if self._decisions is not None and (is_known or user is None):
            self._decisions.told(job_id, used=used, missed=missed)
        return outcome

    async def _count(
        self, job_id: str, used: Sequence[str], missed: Sequence[str], user: str | None
    ) -> FeedbackOutcome:
        try:
            async with asyncio.timeout(COUNT_WITHIN_S):
                picked = await self._claim(job_id, user)
                if picked is None:
                    return FeedbackOutcome.UNKNOWN
                key = hits_key(self._queue, int(self._clock.time() // HOUR_S))
                series = Series.of(picked)
                whats = judged(picked.ids, used=used, missed=missed)
                await self._add(keys=[key], args=[KEPT_S, *map(series.field, whats)])
        except (*REDIS_FAULTS, TimeoutError) as fault:
            log.warning("a feedback is not counted, Redis did not answer (%s)", type(fault).__name__)
            return FeedbackOutcome.UNAVAILABLE
        self._meter.rated(picked.ranker, picked.prompt_version, hit(whats))
        return FeedbackOutcome.COUNTED

    async def _claim(self, job_id: str, user: str | None) -> Picked | None:
        """What the call picked, if it is that user's; whoever takes it out first has it."""
        if job_id in self._waiting:
            await self.flush()
        key = picked_key(self._queue, job_id)
        picked = Picked.read(await self._redis.get(key))
        if picked is None or (user is not None and picked.user != digest(user)):
            return None
        return Picked.read(await self._redis.getdel(key))


def _check(job_id: str, used: Sequence[str], missed: Sequence[str], user: str | None) -> None:
    for name, ids in (("job_id", (job_id,)), ("user", () if user is None else (user,)), ("used", used),
                      ("missed", missed)):  # fmt: skip
        if isinstance(ids, str) or len(ids) > MAX_CANDIDATES:
            raise InvalidInput(f"{name}: must be a list of at most {MAX_CANDIDATES} ids")
        try:
            _IDS.validate_python(tuple(ids))
        except ValidationError as error:
            raise InvalidInput(f"{name}: {describe(error)}") from None
