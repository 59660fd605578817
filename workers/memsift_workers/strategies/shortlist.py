"""When a strategy reads only some of a job's memories: which, and where the others go."""

from __future__ import annotations

from collections.abc import Mapping

from memsift_schemas.job import RerankJob


def by_prior(job: RerankJob) -> list[int]:
    """Positions of all candidates, best first by the prefilter; without one, in the order given."""
    positions = range(len(job.candidates))
    return sorted(positions, key=lambda at: (-job.prior[at], at)) if job.prior else list(positions)


def shortlist(job: RerankJob, most: int) -> list[int]:
    """Positions of the best `most` candidates by the prefilter, in the order of the job."""
    return sorted(by_prior(job)[:most])


def spread(job: RerankJob, scored: Mapping[int, float]) -> tuple[float, ...]:
    """Scores of all candidates: those given, and the others below them in the prefilter's order."""
    floor = min(scored.values(), default=0.0)
    rest = [at for at in by_prior(job) if at not in scored]
    below = {at: floor - 1.0 - place for place, at in enumerate(rest)}
    return tuple({**scored, **below}[at] for at in range(len(job.candidates)))
