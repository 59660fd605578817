"""What the page tells before anything is asked: who would answer, which rankers there are, the limits."""

from __future__ import annotations

from memsift_producer.gateway.access import Gateway, why_no_model
from memsift_schemas.job import MAX_CANDIDATES
from memsift_schemas.memory import Model
from memsift_schemas.result import Cause


class Standing(Model):
    """How things stand.

    Attributes:
        keys: whether calls show a key, which then says whose memories they rank.
        cause: why the prefilter would answer; None when the model would.
        workers: how many are present.
        models: the models of their default rankers, each once.
        rankers: what a question may name, the default first; of all workers together.
        deadline_ms: how long a question may take unless it says otherwise.
        max_deadline_ms: the longest that it may say.
        top_k: how many memories the prompt holds unless the question says otherwise.
        max_memories: the most in one question.
    """

    keys: bool
    cause: Cause | None
    workers: int
    models: tuple[str, ...]
    rankers: tuple[str, ...]
    deadline_ms: int
    max_deadline_ms: int
    top_k: int
    max_memories: int = MAX_CANDIDATES


def standing(gateway: Gateway) -> Standing:
    """Look at what is known, without asking anybody."""
    workers = gateway.reranker.workers
    settings = gateway.settings
    return Standing(
        keys=bool(gateway.keys),
        cause=why_no_model(gateway.reranker),
        workers=len(workers),
        models=tuple(dict.fromkeys(card.model for card in workers if card.model)),
        rankers=tuple(dict.fromkeys(name for card in workers for name in card.serves)),
        deadline_ms=min(settings.deadline_ms, settings.gateway_max_deadline_ms),
        max_deadline_ms=settings.gateway_max_deadline_ms,
        top_k=settings.top_k,
    )
