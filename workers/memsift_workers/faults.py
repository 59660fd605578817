"""How an error is told without what it was about: type and place, never a message that may hold text."""

from __future__ import annotations

from memsift_schemas.errors import InvalidInput, raised_at
from memsift_workers.rankers.base import RankFault
from memsift_workers.runtimes.base import RuntimeFault

# Errors of ours are written so that their messages hold no memory text; nobody else's are.
_OURS = (InvalidInput, RankFault, RuntimeFault)


def describe(error: BaseException) -> str:
    """`Type (file:line)` of any error, with the message only if it is one of ours."""
    place = raised_at(error)
    message = f": {error}" if isinstance(error, _OURS) else ""
    return f"{type(error).__name__}{message}" + (f" ({place})" if place else "")
