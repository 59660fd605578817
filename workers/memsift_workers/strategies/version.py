"""Which prompts are asked: a name that changes when a word of them does, to tell results apart by."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import blake2b

from memsift_schemas.job import RerankJob
from memsift_schemas.memory import Memory, Turn
from memsift_workers.decks.deck import Deck, Limits
from memsift_workers.decks.laid import Laid
from memsift_workers.decks.session import lay_one
from memsift_workers.strategies.base import Strategy

_DIGEST_BYTES = 4
_SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)
_ROOMY = Limits(memories=20, tokens=10_000, carry=0.0)


def _sample(query: str, *texts: str) -> RerankJob:
    times = (_SOME_DAY, None)
    return RerankJob(
        id="sample",
        query=query,
        now=_SOME_DAY,
        turns=(Turn(role="user", text=texts[0]), Turn(role="assistant", text=texts[1])),
        activity=(texts[1],),
        candidates=tuple(
            Memory(id=f"m{at}", text=text, created_at=created_at)
            for at, (text, created_at) in enumerate(zip(texts, times, strict=True))
        ),
        deadline=_SOME_DAY.timestamp(),
    )


# Invented, in both languages that prompts differ by, with all that a prompt may show of a job.
SAMPLES = (
    _sample("What colour is the front door?", "The front door is green.", "The bus leaves at nine."),
    _sample("前门是什么颜色？", "前门是绿色的。", "公共汽车九点开。"),
)


def version(name: str, prompts: Iterable[str]) -> str:
    """`name-1a2b3c4d`: the name and a digest of what is asked of the samples."""
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for prompt in prompts:
        digest.update(f"{len(prompt)} {prompt}".encode())
    return f"{name}-{digest.hexdigest()}"


def strategy_version(strategy: Strategy) -> str:
    """The version of a strategy's prompts, before it has learned a model's labels: the same for any model."""
    asked = [call for job in SAMPLES for call in strategy.calls(job, _laid(strategy, job))]
    return version(strategy.name, (f"{call.prefix}{call.suffix}{call.wish!r}" for call in asked))


def _laid(strategy: Strategy, job: RerankJob) -> Laid:
    return lay_one(job, Deck(), _ROOMY, "sample")[0] if strategy.deck_size else Laid()
