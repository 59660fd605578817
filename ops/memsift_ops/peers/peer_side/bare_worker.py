"""memsift's worker without what no peer does: it writes no prompts and reads no log-probabilities.

    celery -A memsift_ops.peers.peer_side.bare_worker worker -P solo

Everything else is as ever: validation, micro-batches, deadlines, the check of the ranking, events.
"""

from __future__ import annotations

from collections.abc import Sequence

from memsift_schemas.job import RerankJob
from memsift_workers import assembly
from memsift_workers.decks.laid import Laid
from memsift_workers.rankers.base import Scores
from memsift_workers.runtimes.base import Answer, Call, Likelihood

_WISH = Likelihood()


class Bare:
    """One empty prompt for a job, and the order given for its answer: as peers' tasks have it."""

    name = "bare"
    labels: tuple[str, ...] = ()
    deck_size = 0

    def use_labels(self, usable: Sequence[str]) -> None:
        """There are none."""

    def calls(self, job: RerankJob, laid: Laid) -> list[Call]:
        """One that no other job shares."""
        return [Call((), job.id, _WISH)]

    def warming(self, job: RerankJob, laid: Laid) -> list[Call]:
        """As a question."""
        return self.calls(job, laid)

    def scores(self, job: RerankJob, laid: Laid, answers: Sequence[Answer]) -> Scores:
        """The order in which the memories came."""
        return Scores(tuple(-float(at) for at in range(len(job.candidates))))


assembly.build_strategy = lambda settings: Bare()  # noqa: ARG005

from memsift_workers.app import app  # noqa: E402  # the worker's rankers are built with the strategy above

__all__ = ["app"]
