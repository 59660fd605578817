"""From an answered call to a line of the decision log. Runs on the log's thread.

Lines are built as plain dicts, since models of 50 memories take several times as long, and hold the
interpreter that the event loop needs. `memsift_schemas.decision` is the contract, and reads them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import orjson

from memsift_producer.prefilter import Prefiltered, Weighing
from memsift_producer.prefilter.signals import similarities
from memsift_producer.preparation import Prepared
from memsift_producer.question import Question
from memsift_schemas.decision import VERSION, DecisionText
from memsift_schemas.memory import Memory
from memsift_schemas.order import best_first
from memsift_schemas.result import RerankResult
from memsift_schemas.sealing import KeyRing

if TYPE_CHECKING:
    from memsift_schemas.settings import ProducerSettings

Row = dict[str, Any]

_DIGEST_BYTES = 12
_DECIMALS = 6
_WITHOUT_EMBEDDINGS = {"memories": {"__all__": {"embedding"}}}


@dataclass(frozen=True, slots=True)
class Answered:
    """A call and its answer.

    Attributes:
        question: as it was asked.
        prepared: as it was sent.
        result: what it got.
        at: unix seconds.
    """

    question: Question = field(repr=False)
    prepared: Prepared = field(repr=False)
    result: RerankResult
    at: float


class Recorder:
    """Writes lines as the settings want them.

    Args:
        settings: of the frontend.
    """

    def __init__(self, settings: ProducerSettings) -> None:
        self._settings = settings
        self._ring = KeyRing.of(settings.decision_log_text_keys)
        key = settings.decision_log_user_key
        self._secret = blake2b(key.encode(), digest_size=32).digest() if key else None

    def line(self, answered: Answered) -> bytes:
        """The line of one call: a `Decision`, with what is None, empty or false left out."""
        return orjson.dumps(
            {name: value for name, value in self._fields(answered).items() if value not in _NOTHING},
            option=orjson.OPT_APPEND_NEWLINE,
        )

    def _fields(self, answered: Answered) -> Row:
        prepared, result, settings = answered.prepared, answered.result, self._settings
        return {
            "kind": "decision",
            "v": VERSION,
            "at": datetime.fromtimestamp(answered.at, UTC),
            "job": result.job_id,
            "user": self._hashed(answered.question.user),
            "session": self._hashed(answered.question.session),
            "source": result.source,
            "cause": result.cause,
            "asked": answered.question.ranker,
            "ranker": result.ranker,
            "model": result.model,
            "prompt_version": result.prompt_version,
            "top_k": prepared.top_k,
            "min_relevance": prepared.min_relevance,
            "deadline_ms": prepared.time_left * 1e3,
            "weights": {
                "vector": settings.weight_vector,
                "recency": settings.weight_recency,
                "keyword": settings.weight_keyword,
                "half_life_days": settings.half_life_days,
                "keep": settings.kept_for(answered.question.ranker),
            },
            "fusion_weight": result.fusion.weight if result.fusion else None,
            "timings_ms": result.timings_ms,
            "prompt_tokens": result.prompt_tokens,
            "cached_tokens": result.cached_tokens,
            "output_tokens": result.output_tokens,
            "cost_usd": result.cost_usd,
            "memories": list(_weighed(prepared.found, result)) if prepared.found else None,
            "text": self._text(answered),
        }

    def _hashed(self, name: str) -> str | None:
        if self._secret is None:
            return None
        return blake2b(name.encode(), digest_size=_DIGEST_BYTES, key=self._secret).hexdigest()

    def _text(self, answered: Answered) -> dict[str, str] | None:
        job = answered.prepared.job
        if self._ring is None or job is None:
            return None
        text = DecisionText.model_construct(
            query=job.query,
            now=job.now,
            turns=job.turns,
            activity=job.activity,
            memories=_as_weighed(answered),
            reason=answered.result.reason,
        )
        clear = text.model_dump_json(exclude_defaults=True, exclude=_WITHOUT_EMBEDDINGS).encode()
        return self._ring.seal(clear, direction="decision", job_id=job.id)


_NOTHING: tuple[Any, ...] = (None, "", False)


def _as_weighed(answered: Answered) -> tuple[Memory, ...]:
    """All memories with the similarity that the prefilter took, which may be of embeddings."""
    given = tuple(answered.prepared.by_id.values())
    embedding = answered.question.query_embedding
    if embedding is None:
        return given
    return tuple(
        memory.model_copy(update={"similarity": float(value) if math.isfinite(value) else None})
        for memory, value in zip(given, similarities(given, embedding), strict=True)
    )


def _weighed(found: Prefiltered, result: RerankResult) -> Iterator[Row]:
    """What was ranked, best first; then what scored too low, best first; then the duplicates."""
    weighing = found.weighing
    if weighing is None:
        return
    before = dict(_before(weighing))
    picked = frozenset(result.selected or ())
    fusion = result.fusion
    for place, ranked in enumerate(result.ranking, start=1):
        id_ = ranked.id
        row = {**before[id_], "sent": True, "score": ranked.score, "place": place, "picked": id_ in picked}
        if fusion is not None:
            row |= {"prior": fusion.prior.get(id_), "model": fusion.model.get(id_)}
        if ranked.evidence is not None:
            row["evidence"] = ranked.evidence
        if ranked.relevance is not None:
            row["relevance"] = ranked.relevance
        yield row
    for id_ in result.pruned:
        stays = weighing.repeated.get(id_)
        yield before[id_] if stays is None else {"id": id_, "duplicate_of": stays}


def _before(weighing: Weighing) -> Iterator[tuple[str, Row]]:
    """What the prefilter says of each memory that is no duplicate, with its id."""
    places = {at: place for place, at in enumerate(best_first(weighing.scores), start=1)}
    signals = {
        name: [round(value, _DECIMALS) for value in values]
        for name, values in (
            ("similarity", weighing.similarity),
            ("recency", weighing.recency),
            ("keyword", weighing.keyword),
            ("prefilter", weighing.scores),
        )
    }
    for at, (memory, *values) in enumerate(zip(weighing.memories, *signals.values(), strict=True)):
        # NaN, which is not itself, says that a signal is missing.
        known = {name: value for name, value in zip(signals, values, strict=True) if value == value}  # noqa: PLR0124
        yield memory.id, {"id": memory.id, **known, "prefilter_place": places[at]}
