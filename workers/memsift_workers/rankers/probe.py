"""A job with two invented memories, for the first question to a server: it needs no user's text."""

from __future__ import annotations

from datetime import UTC, datetime

from memsift_schemas.job import RerankJob
from memsift_schemas.memory import Memory

PROBE_SECONDS = 30.0
"""For the first answer, which may have to wait until a model is loaded or a schema compiled."""

_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)
PROBE = RerankJob(
    id="probe",
    query="What colour is the front door?",
    now=_SOME_DAY,
    candidates=(
        Memory(id="door", text="The front door is green.", created_at=_SOME_DAY),
        Memory(id="bus", text="The bus leaves at nine.", created_at=_SOME_DAY),
    ),
    top_k=1,
    deadline=_SOME_DAY.timestamp(),
)
