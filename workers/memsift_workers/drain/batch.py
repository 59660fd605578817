"""One micro-batch from list items to replies."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from redis.asyncio import Redis

from memsift_schemas import calibration
from memsift_schemas.clock import Clock
from memsift_schemas.job import RerankJob
from memsift_schemas.ranker_names import asks_runtime
from memsift_schemas.redis_link import REDIS_FAULTS
from memsift_schemas.result import Cause, Refusal
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import WorkerSettings
from memsift_workers import tracing
from memsift_workers.decks.tally import CacheTally
from memsift_workers.drain import replies
from memsift_workers.drain.asking import Asker
from memsift_workers.drain.delivery import Delivery, Poison, receive
from memsift_workers.drain.events import EventStream
from memsift_workers.drain.popped import Popped
from memsift_workers.drain.recent import Recent
from memsift_workers.drain.replies import Reply
from memsift_workers.drain.reporter import UNTOLD, Reporter, about
from memsift_workers.drain.sieve import Answered, Asked, Sieve, refuse
from memsift_workers.drain.waiting import is_late, is_unwanted, patience_s, queued_ms, waited
from memsift_workers.faults import describe
from memsift_workers.flow.cancellation import Cancellations
from memsift_workers.flow.load import Load, batches_at_capacity
from memsift_workers.flow.quarantine import Quarantine
from memsift_workers.flow.rescue import forget
from memsift_workers.flow.service_times import ServiceTimes
from memsift_workers.flow.shared_limit import Lease, SharedLimit
from memsift_workers.health import Health
from memsift_workers.metering.meter import Meter
from memsift_workers.rankers.base import Outcome, Ranker, RankFault
from memsift_workers.rankers.relevance import Relevance

log = logging.getLogger("memsift.worker")


@dataclass(slots=True)
class _Batch:
    """What a batch, or a part that is answered before the rest, holds and has used.

    Attributes:
        popped: what came.
        items: how many of it are answered together.
        leases: its places in runtimes.
        records: what Redis keeps of it until it is answered.
        model_s: each job's share of the time that rankers took, by its id.
    """

    popped: Popped
    items: int
    leases: list[Lease] = field(default_factory=list)
    records: list[str] = field(default_factory=list)
    model_s: dict[str, float] = field(default_factory=dict)


class BatchHandler:
    """Takes list items to their replies. Nothing that a job holds can make it raise.

    Attributes:
        times: how long the rankers take.
        quarantine: jobs that runtimes died of.
        load: how much gets done at capacity.
        health: whether jobs are answered by the model.
        cache: how much of the prompts came from the prefix cache.
        shared: places in the runtime, if others ask it too.
        reporter: counts, and tells monitors.
        recent: what got done in the last seconds.
        asked: what rankers have been asked and have not answered yet, with when that was, unix seconds.
        on_work: are called when a batch comes.
        on_answered: is given each batch's answers when they have been sent.
    """

    def __init__(  # noqa: PLR0913  # one keyword per collaborator
        self,
        *,
        redis: Redis,
        settings: WorkerSettings,
        rankers: Mapping[str, Ranker],
        clock: Clock,
        events: EventStream,
        shared: SharedLimit | None = None,
        meter: Meter | None = None,
    ) -> None:
        self._redis = redis
        self._settings = settings
        self._rankers = rankers
        self._clock = clock
        self._ring = KeyRing.of(settings.seal_keys)
        self._relevance = Relevance(calibration.load(settings.calibration))
        self._meter = meter or Meter()
        self.reporter = Reporter(events, clock, self._meter)
        self._cancellations = Cancellations(redis, settings.queue)
        self.shared = shared
        self._batches = 0
        self.recent = Recent(clock)
        self.asked: dict[int, tuple[float, list[Asked]]] = {}
        self.on_work: list[Callable[[], None]] = []
        self.on_answered: Callable[[list[Answered]], None] = lambda _: None
        self.quarantine = Quarantine(redis, settings.queue, clock)
        self.times = ServiceTimes(clock)
        self._sieve = Sieve(clock, self.times, self.quarantine)
        self.load = Load(clock, batches=batches_at_capacity(settings))
        self.health = Health(clock)
        self.cache = CacheTally()
        self._asker = Asker(
            clock=clock,
            rank_timeout_s=settings.rank_timeout_ms / 1e3,
            cancellations=self._cancellations,
            times=self.times,
        )

    @property
    def tally(self) -> Counter[str]:
        """What became of the list items since the start: outcome or cause -> count."""
        return self.reporter.tally

    @property
    def is_idle(self) -> bool:
        """No batch is being handled."""
        return self._batches == 0

    async def handle(self, popped: Popped) -> None:
        """Decode, drop what nobody waits for or what can't make it, rank, reply."""
        self._batches += 1
        for give_way in self.on_work:
            give_way()
        try:
            await self._handle(popped)
        finally:
            self._batches -= 1

    async def _handle(self, popped: Popped) -> None:
        deliveries = [delivery for item in popped.items if (delivery := self._receive(item)) is not None]
        ready = [delivery for delivery in deliveries if delivery.refused is None]
        answered = [
            refuse(delivery, delivery.refused) for delivery in deliveries if delivery.refused is not None
        ]
        # Jobs of one user and session side by side: their common prefix is computed once.
        ready.sort(key=lambda delivery: _conversation(delivery.job))
        self._meter.took(deliveries, fill=popped.fill, at=popped.at)
        batch = _Batch(popped, len(popped.items), records=[popped.record] if popped.record else [])
        for name, group in self._by_ranker(ready).items():
            answered += await self._rank(name, group, batch)
        await self._reply(answered, batch)

    def _receive(self, item: bytes) -> Delivery | None:
        now = self._clock.time()
        try:
            delivery = receive(item, queue=self._settings.queue, now=now, ring=self._ring)
        except Poison as poison:
            self.reporter.poison(poison.why, len(item))
            return None
        self.reporter.received(delivery, now)
        return delivery

    def _by_ranker(self, ready: list[Delivery]) -> dict[str, list[Delivery]]:
        groups: dict[str, list[Delivery]] = {}
        for delivery in ready:
            name = (delivery.job.ranker if delivery.job else None) or self._settings.ranker
            groups.setdefault(name, []).append(delivery)
        return dict(sorted(groups.items()))

    async def _rank(self, name: str, group: list[Delivery], batch: _Batch) -> list[Answered]:
        ranker = self._rankers.get(name)
        if ranker is None:
            return [refuse(delivery, Cause.UNKNOWN_RANKER) for delivery in group]
        if self.shared is None or not asks_runtime(name):
            return await self._rank_part(ranker, group, batch)
        answered: list[Answered] = []
        latest = max(delivery.job.deadline for delivery in group if delivery.job)
        hold_s = self._settings.rank_timeout_ms / 1e3
        async with asyncio.TaskGroup() as early:
            async for lease in self.shared.enter(len(group), until=latest, hold_s=hold_s):
                part, group = group[: lease.jobs], group[lease.jobs :]
                if group:
                    batch.items -= len(part)
                    ahead = _Batch(batch.popped, len(part), [lease])
                    early.create_task(self._rank_early(ranker, part, ahead))
                else:
                    batch.leases.append(lease)
                    answered = await self._rank_part(ranker, part, batch)
        return answered

    async def _rank_early(self, ranker: Ranker, part: list[Delivery], batch: _Batch) -> None:
        """Those for which the runtime had places before it had some for the rest are answered alone."""
        await self._reply(await self._rank_part(ranker, part, batch), batch)

    async def _rank_part(self, ranker: Ranker, group: list[Delivery], batch: _Batch) -> list[Answered]:
        # Last before the model: callers go away while a place in the runtime is waited for.
        gone = await self._cancellations.marked(waited(group, self._clock.time()))
        answered = [refuse(delivery, Cause.CANCELLED) for delivery in group if delivery.envelope.id in gone]
        staying = [delivery for delivery in group if delivery.envelope.id not in gone]
        sifted = self._sieve.sift(ranker.name, staying, crowded=batch.popped.crowded)
        answered += sifted.refused
        for together in (sifted.together, *([suspect] for suspect in sifted.suspects)):
            if together:
                answered += await self._ask(ranker, together, batch)
        return answered

    async def _ask(self, ranker: Ranker, group: list[Asked], batch: _Batch) -> list[Answered]:
        for delivery, _ in group:
            self.reporter.started(delivery)
        popped = batch.popped
        started = self._clock.monotonic()
        place_ms = max(self._clock.time() - popped.at, 0.0) * 1e3
        # Where most of what was popped was dropped, the rest is no full batch.
        self.load.began(full=popped.crowded and 2 * len(group) > batch.items)
        self._meter.entered(len(group))
        self.asked[id(group)] = self._clock.time(), group
        try:
            jobs = [job for _, job in group]
            with tracing.ranking(jobs, queue=self._settings.queue, popped_at=popped.at, clock=self._clock):
                outcomes = await self._asker.ask(ranker, jobs)
        finally:
            self.load.ended(len(group))
            del self.asked[id(group)]
            seconds = self._clock.monotonic() - started
            self._meter.left(ranker.name, len(group), seconds)
            batch.model_s.update({delivery.envelope.id: seconds / len(group) for delivery, _ in group})
        self.health.note(outcomes)
        await self._blame(group, outcomes)
        rank_ms = (self._clock.monotonic() - started) * 1e3
        took = {"place": place_ms, "rank": rank_ms}
        return [
            (delivery, self._conclude(job, outcome, ranker, {"queue": queued_ms(job, popped.at), **took}))
            for (delivery, job), outcome in zip(group, outcomes, strict=True)
        ]

    async def _blame(self, group: list[Asked], outcomes: list[Outcome]) -> None:
        for (delivery, job), outcome in zip(group, outcomes, strict=True):
            if isinstance(outcome, RankFault) and outcome.blamed:
                count = await self.quarantine.blame(job)
                told = {"job": delivery.envelope.id, "cause": outcome.cause.value}
                log.error("the runtime died of job %s (%d times by now)", told["job"], count, extra=told)

    def _conclude(
        self, job: RerankJob, outcome: Outcome, ranker: Ranker, timings_ms: dict[str, float]
    ) -> Reply:
        try:
            if isinstance(outcome, RankFault):
                raise outcome
            result = self._relevance.result(job, outcome, ranker)
        except RankFault as fault:
            if fault.cause not in UNTOLD:
                log.warning("job %s falls back: %s", job.id, fault, extra=about(job.id, fault.cause))
            return Refusal(job_id=job.id, cause=fault.cause)
        self.cache.note(result)
        return result.model_copy(update={"timings_ms": timings_ms})

    async def _reply(self, answered: list[Answered], batch: _Batch) -> None:
        now = self._clock.time()
        wanted = [(delivery, reply) for delivery, reply in answered if not is_unwanted(delivery, reply, now)]
        try:
            async with asyncio.timeout(patience_s(wanted, now)):
                await replies.send(
                    self._redis,
                    wanted,
                    reply_ttl_ms=self._settings.reply_ttl_ms,
                    result_ttl_s=self._settings.result_ttl_s,
                    ring=self._ring,
                    also=[*(lease.give_back for lease in batch.leases), *map(forget, batch.records)],
                )
        except REDIS_FAULTS as error:
            self.tally["reply_lost"] += len(wanted)
            self._meter.lost(len(wanted))
            log.warning(
                "%d replies are lost, their callers fall back: %s",
                len(wanted),
                describe(error),
                extra={"cause": "reply_lost", "jobs": len(wanted)},
            )
        popped, latencies_s = batch.popped, []
        for delivery, reply in answered:
            late = is_late(delivery, now)
            self.reporter.ended(delivery, reply, late=late, now=now, popped_at=popped.at)
            if not late and delivery.job and delivery.job.sent_at and not isinstance(reply, Refusal):
                latencies_s.append(now - delivery.job.sent_at)
        self.reporter.batch(answered, now=now, popped_at=popped.at)
        self.recent.note(batch.items, fill=popped.fill, latencies_s=latencies_s)
        self._meter.ended(answered, batch.model_s, judged_at=now, replied_at=self._clock.time())
        self.on_answered(answered)


def _conversation(job: RerankJob | None) -> tuple[str, str]:
    return (job.user, job.session) if job else ("", "")
