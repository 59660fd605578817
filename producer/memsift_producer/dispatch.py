"""Where a job goes, and whether it is worth sending: by what is known of lists and workers, at no cost."""

from __future__ import annotations

from collections.abc import Collection

from memsift_producer.admission import Admission
from memsift_producer.affinity import Affinity, Favourite
from memsift_producer.breaker_state import Reading
from memsift_producer.cards import Card
from memsift_schemas.job import RerankJob
from memsift_schemas.result import Cause


class Dispatch:
    """Puts together who a session's favourite is and how long a job would wait there.

    Attributes:
        affinity: knows the favourites.
        admission: knows the waits.
    """

    def __init__(self, affinity: Affinity, admission: Admission) -> None:
        self.affinity = affinity
        self.admission = admission

    def learn(self, reading: Reading) -> None:
        """Take over what waits."""
        self.admission.learn(reading)

    def learn_cards(self, cards: Collection[Card]) -> None:
        """Take over what the workers that are present say of themselves."""
        self.admission.learn_cards(cards)
        self.affinity.learn(cards)

    def choose(
        self, job: RerankJob, time_left: float, *, ahead: int, is_probe: bool
    ) -> Favourite | Cause | None:
        """Whose own list a job should go to, None for the queue; or why it is not worth sending.

        Args:
            job: the job.
            time_left: seconds to its deadline.
            ahead: jobs of this process that are in no list yet.
            is_probe: it finds out whether anybody works, so whoever is free takes it.
        """
        favourite = self.affinity.favourite(job)
        if is_probe:
            return favourite if favourite is not None and not favourite.spills else None
        if favourite is not None and self.admission.admits(time_left, own=favourite.own):
            # What finds its favourite busy is pushed on the queue, and waits there.
            if not self._is_busy(favourite) or self.admission.admits(time_left, ahead):
                return favourite
        elif favourite is None or favourite.spills:
            return None if self.admission.admits(time_left, ahead) else Cause.OVERLOADED
        return Cause.OVERLOADED

    def warms(self, job: RerankJob) -> bool:
        """Whether a warm-up is of any use: a ranker of its kind is there, and no job would have to wait."""
        favourite = self.affinity.favourite(job)
        own = None if favourite is None else favourite.own
        return self.affinity.keeps_kv(job.ranker) and not self.admission.is_backed_up(own)

    def _is_busy(self, favourite: Favourite) -> bool:
        """As far as is known; `outbox.PUSH` knows."""
        own = favourite.own
        return favourite.spills and self.admission.depth(own) >= own.most + self.admission.depth()
