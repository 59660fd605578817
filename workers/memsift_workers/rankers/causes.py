"""What a runtime's or a server's fault means to the caller of a job."""

from __future__ import annotations

from memsift_schemas.result import Cause
from memsift_workers.rankers.base import RankFault
from memsift_workers.runtimes.base import (
    RuntimeFault,
    RuntimeGarbage,
    RuntimeMisconfigured,
    RuntimeTimeout,
    RuntimeUnavailable,
)

_CAUSES: tuple[tuple[type[RuntimeFault], Cause], ...] = (
    (RuntimeUnavailable, Cause.RUNTIME_UNAVAILABLE),
    (RuntimeTimeout, Cause.RUNTIME_TIMEOUT),
    (RuntimeGarbage, Cause.RUNTIME_GARBAGE),
    (RuntimeMisconfigured, Cause.RUNTIME_UNAVAILABLE),
)


def rank_fault(fault: RuntimeFault, *, blamed: bool = False) -> RankFault:
    """The same fault as the drain understands it."""
    cause = next((cause for kind, cause in _CAUSES if isinstance(fault, kind)), Cause.RANKER_ERROR)
    return RankFault(cause, str(fault), blamed=blamed)
