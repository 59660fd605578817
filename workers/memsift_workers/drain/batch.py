"""One micro-batch from list items to replies."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence

from redis.asyncio import Redis

from memsift_schemas.clock import Clock
from memsift_schemas.job import RerankJob
from memsift_schemas.redis_link import REDIS_FAULTS
from memsift_schemas.result import Cause, Refusal
from memsift_schemas.settings import WorkerSettings
from memsift_workers.drain import replies
from memsift_workers.drain.delivery import Delivery, Poison, receive
from memsift_workers.drain.events import EventStream
from memsift_workers.drain.replies import Reply
from memsift_workers.faults import describe
from memsift_workers.rankers.base import Outcome, Ranker, RankFault, to_result

log = logging.getLogger("memsift.worker")


class BatchHandler:
    """Takes list items to their replies. Nothing that a job holds can make it raise."""

    def __init__(
        self,
        *,
        redis: Redis,
        settings: WorkerSettings,
        rankers: Mapping[str, Ranker],
        clock: Clock,
        events: EventStream,
    ) -> None:
        self._redis = redis
        self._settings = settings
        self._rankers = rankers
        self._clock = clock
        self._events = events
        # What became of the list items since the start: outcome or cause -> count.
        self.tally: Counter[str] = Counter()

    async def handle(self, items: Sequence[bytes], popped_at: float) -> None:
        """Decode, drop what is late, rank, reply.

        Args:
            items: raw list items.
            popped_at: when they left the queue, on the deadline clock.
        """
        deliveries = [delivery for item in items if (delivery := self._receive(item)) is not None]
        answered: list[tuple[Delivery, Reply]] = [
            (delivery, Refusal(job_id=delivery.envelope.id, cause=delivery.refused))
            for delivery in deliveries
            if delivery.refused is not None
        ]
        ready = [delivery for delivery in deliveries if delivery.refused is None]
        # Jobs of one user and session side by side: their common prefix is computed once.
        ready.sort(key=lambda delivery: _conversation(delivery.job))
        for delivery in ready:
            self._events.send("task-started", uuid=delivery.envelope.id, timestamp=self._clock.time())
        answered += await self._rank(ready, popped_at)
        await self._reply(answered, popped_at)

    def _receive(self, item: bytes) -> Delivery | None:
        now = self._clock.time()
        try:
            delivery = receive(item, queue=self._settings.queue, now=now)
        except Poison as poison:
            self.tally[f"poison_{poison.why}"] += 1
            log.warning("dropped a list item of %d bytes that is no job (%s)", len(item), poison.why)
            return None
        if delivery.refused is not None and delivery.refused is not Cause.EXPIRED:
            log.warning("job %s is refused (%s): %s", delivery.envelope.id, delivery.refused, delivery.why)
        self._events.send(
            "task-received",
            uuid=delivery.envelope.id,
            name=delivery.envelope.task,
            args="()",
            kwargs=delivery.envelope.shown,
            retries=0,
            eta=None,
            timestamp=now,
        )
        return delivery

    async def _rank(self, ready: list[Delivery], popped_at: float) -> list[tuple[Delivery, Reply]]:
        answered: list[tuple[Delivery, Reply]] = []
        names = {delivery.job.ranker or self._settings.ranker for delivery in ready if delivery.job}
        for name in sorted(names):
            group = [d for d in ready if d.job and (d.job.ranker or self._settings.ranker) == name]
            ranker = self._rankers.get(name)
            if ranker is None:
                refusals = [Refusal(job_id=d.envelope.id, cause=Cause.UNKNOWN_RANKER) for d in group]
                answered += zip(group, refusals, strict=True)
            else:
                answered += zip(group, await self._ask(ranker, group, popped_at), strict=True)
        return answered

    async def _ask(self, ranker: Ranker, group: list[Delivery], popped_at: float) -> list[Reply]:
        jobs = [delivery.job for delivery in group if delivery.job is not None]
        started = self._clock.monotonic()
        latest = max(job.deadline for job in jobs) - self._clock.time()
        timeout = max(min(latest, self._settings.rank_timeout_ms / 1e3), 0.001)
        outcomes: Sequence[Outcome]
        try:
            outcomes = await ranker.rank(jobs, timeout=timeout)
            if len(outcomes) != len(jobs):
                raise RankFault(Cause.RANKER_ERROR, f"{len(outcomes)} outcomes for {len(jobs)} jobs")
        except Exception as error:  # noqa: BLE001  # whatever a ranker does, the worker lives on
            log.error("a batch of %d jobs falls back, the ranker raised: %s", len(jobs), describe(error))
            outcomes = [RankFault(Cause.RANKER_ERROR)] * len(jobs)
        rank_ms = (self._clock.monotonic() - started) * 1e3
        return [
            self._conclude(job, outcome, ranker, {"queue": _queued_ms(job, popped_at), "rank": rank_ms})
            for job, outcome in zip(jobs, outcomes, strict=True)
        ]

    def _conclude(
        self, job: RerankJob, outcome: Outcome, ranker: Ranker, timings_ms: dict[str, float]
    ) -> Reply:
        try:
            if isinstance(outcome, RankFault):
                raise outcome
            result = to_result(job, outcome, ranker)
        except RankFault as fault:
            log.warning("job %s falls back: %s", job.id, fault)
            return Refusal(job_id=job.id, cause=fault.cause)
        return result.model_copy(update={"timings_ms": timings_ms})

    async def _reply(self, answered: list[tuple[Delivery, Reply]], popped_at: float) -> None:
        now = self._clock.time()
        in_time = [(delivery, reply) for delivery, reply in answered if not self._is_late(delivery, now)]
        try:
            await replies.send(
                self._redis,
                in_time,
                reply_ttl_ms=self._settings.reply_ttl_ms,
                result_ttl_s=self._settings.result_ttl_s,
            )
        except REDIS_FAULTS as error:
            self.tally["reply_lost"] += len(in_time)
            log.warning("%d replies are lost, their callers fall back: %s", len(in_time), describe(error))
        for delivery, reply in answered:
            self._tell(delivery, reply, now, popped_at)

    def _tell(self, delivery: Delivery, reply: Reply, now: float, popped_at: float) -> None:
        """Count an outcome and tell the monitors."""
        uuid = delivery.envelope.id
        if isinstance(reply, Refusal):
            self.tally[reply.cause.value] += 1
            if reply.cause is Cause.EXPIRED:
                self._events.send(
                    "task-revoked", uuid=uuid, terminated=False, signum=None, expired=True, timestamp=now
                )
            else:
                self._events.send(
                    "task-failed", uuid=uuid, exception=f"JobRefused('{reply.cause.value}')", timestamp=now
                )
        else:
            late = self._is_late(delivery, now)
            self.tally["late" if late else "ranked"] += 1
            self._events.send(
                "task-succeeded",
                uuid=uuid,
                result="late, dropped" if late else f"{len(reply.ranking)} memories ranked",
                runtime=now - popped_at,
                timestamp=now,
            )

    @staticmethod
    def _is_late(delivery: Delivery, now: float) -> bool:
        """Nobody waits any more. A plain Celery client decides by its own timeout, so it is never late."""
        if delivery.job is None or delivery.envelope.wants_result:
            return False
        return now >= delivery.job.deadline


def _conversation(job: RerankJob | None) -> tuple[str, str]:
    return (job.user, job.session) if job else ("", "")


def _queued_ms(job: RerankJob, popped_at: float) -> float:
    return max(popped_at - job.sent_at, 0.0) * 1e3 if job.sent_at is not None else 0.0
