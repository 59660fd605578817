"""Which jobs of a batch are worth model time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memsift_schemas.clock import Clock
from memsift_schemas.job import RerankJob
from memsift_schemas.result import Cause, Refusal
from memsift_workers.drain.delivery import Delivery
from memsift_workers.drain.replies import Reply
from memsift_workers.flow.quarantine import BLAMES, Quarantine
from memsift_workers.flow.service_times import ServiceTimes

Answered = tuple[Delivery, Reply]
Asked = tuple[Delivery, RerankJob]


@dataclass(slots=True)
class Sifted:
    """One ranker's share of a batch.

    Attributes:
        together: go to the ranker in one request.
        suspects: a runtime has died of such a job once; each goes alone, after the others.
        refused: get no model time.
    """

    together: list[Asked] = field(default_factory=list)
    suspects: list[Asked] = field(default_factory=list)
    refused: list[Answered] = field(default_factory=list)


class Sieve:
    """Refuses what is too late, and what runtimes have died of twice."""

    def __init__(self, clock: Clock, times: ServiceTimes, quarantine: Quarantine) -> None:
        self._clock = clock
        self._times = times
        self._quarantine = quarantine

    def sift(self, ranker: str, group: Sequence[Delivery], *, crowded: bool) -> Sifted:
        """Sort readable jobs of one ranker by what they deserve; see `ServiceTimes.least_time`."""
        needed = self._times.least_time(ranker, crowded=crowded)
        now = self._clock.time()
        sifted = Sifted()
        for delivery in group:
            job = delivery.job
            if job is None:
                continue
            if now >= job.deadline:
                sifted.refused.append(refuse(delivery, Cause.EXPIRED))
            elif needed.is_too_late(job, now):
                sifted.refused.append(refuse(delivery, Cause.TOO_LATE))
            elif (blames := self._quarantine.blames(job)) >= BLAMES:
                sifted.refused.append(refuse(delivery, Cause.QUARANTINED))
            elif blames:
                sifted.suspects.append((delivery, job))
            else:
                sifted.together.append((delivery, job))
        return sifted


def refuse(delivery: Delivery, cause: Cause) -> Answered:
    """A delivery with the word that it won't be ranked."""
    return delivery, Refusal(job_id=delivery.envelope.id, cause=cause)
