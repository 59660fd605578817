"""From an answered call to a line of the decision log. Runs on the log's thread."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b

import numpy as np

from memsift_producer.prefilter import Prefiltered, Weighing
from memsift_producer.prefilter.signals import similarities
from memsift_producer.preparation import Prepared, Question
from memsift_schemas.decision import Decision, DecisionText, Sealed, Weighed, Weights, encode
from memsift_schemas.memory import Memory
from memsift_schemas.result import Ranked, RerankResult
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import ProducerSettings

_DIGEST_BYTES = 12
_DECIMALS = 6


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
        """The line of one call."""
        return encode(self._decision(answered))

    def _decision(self, answered: Answered) -> Decision:
        prepared, result, settings = answered.prepared, answered.result, self._settings
        job = prepared.job
        fusion = result.fusion
        return Decision(
            at=datetime.fromtimestamp(answered.at, UTC),
            job=result.job_id,
            user=self._hashed(answered.question.user),
            session=self._hashed(answered.question.session),
            source=result.source,
            cause=result.cause,
            asked=answered.question.ranker,
            ranker=result.ranker,
            model=result.model,
            prompt_version=result.prompt_version,
            top_k=prepared.top_k,
            min_relevance=prepared.min_relevance,
            deadline_ms=prepared.time_left * 1e3,
            weights=Weights(
                vector=settings.weight_vector,
                recency=settings.weight_recency,
                keyword=settings.weight_keyword,
                half_life_days=settings.half_life_days,
                keep=settings.kept_for(answered.question.ranker),
            ),
            fusion_weight=fusion.weight if fusion else None,
            timings_ms=result.timings_ms,
            prompt_tokens=result.prompt_tokens,
            cached_tokens=result.cached_tokens,
            output_tokens=result.output_tokens,
            cost_usd=result.cost_usd,
            memories=tuple(_weighed(prepared.found, result)) if prepared.found else (),
            text=self._text(answered) if job is not None else None,
        )

    def _hashed(self, name: str) -> str | None:
        if self._secret is None:
            return None
        return blake2b(name.encode(), digest_size=_DIGEST_BYTES, key=self._secret).hexdigest()

    def _text(self, answered: Answered) -> Sealed | None:
        job = answered.prepared.job
        if self._ring is None or job is None:
            return None
        text = DecisionText(
            query=job.query,
            now=job.now,
            turns=job.turns,
            activity=job.activity,
            memories=_as_weighed(answered),
            reason=answered.result.reason,
        )
        clear = text.model_dump_json(exclude_defaults=True).encode()
        return Sealed(**self._ring.seal(clear, direction="decision", job_id=job.id))


def _as_weighed(answered: Answered) -> tuple[Memory, ...]:
    """All memories with the similarity that the prefilter took, which may be of embeddings."""
    given = tuple(answered.prepared.by_id.values())
    found = similarities(given, answered.question.query_embedding)
    return tuple(
        memory.model_copy(
            update={"embedding": None, "similarity": float(value) if math.isfinite(value) else None}
        )
        for memory, value in zip(given, found, strict=True)
    )


def _weighed(found: Prefiltered, result: RerankResult) -> Iterator[Weighed]:
    """What was ranked, best first; then what scored too low, best first; then the duplicates."""
    weighing = found.weighing
    if weighing is None:
        return
    before = _before(weighing)
    picked = frozenset(result.selected or ())
    for place, ranked in enumerate(result.ranking, start=1):
        yield _ranked(ranked, before[ranked.id], place, result, picked=ranked.id in picked)
    for id_ in result.pruned:
        stays = weighing.repeated.get(id_)
        yield before[id_] if stays is None else Weighed(id=id_, duplicate_of=stays)


def _before(weighing: Weighing) -> Mapping[str, Weighed]:
    """What the prefilter says of each memory that is no duplicate, by id."""
    places = np.empty(len(weighing.scores), dtype=int)
    places[np.argsort(-weighing.scores, kind="stable")] = np.arange(1, len(weighing.scores) + 1)
    columns = zip(
        weighing.memories, weighing.similarity, weighing.recency, weighing.keyword, weighing.scores, places,
        strict=True,
    )  # fmt: skip
    return {
        memory.id: Weighed(
            id=memory.id,
            similarity=_known(similarity),
            recency=_known(recency),
            keyword=_known(keyword),
            prefilter=_known(score),
            prefilter_place=int(place),
        )
        for memory, similarity, recency, keyword, score, place in columns
    }


def _ranked(ranked: Ranked, before: Weighed, place: int, result: RerankResult, *, picked: bool) -> Weighed:
    fusion = result.fusion
    return before.model_copy(
        update={
            "sent": True,
            "prior": fusion.prior.get(ranked.id) if fusion else None,
            "model": fusion.model.get(ranked.id) if fusion else None,
            "score": ranked.score,
            "evidence": ranked.evidence,
            "relevance": ranked.relevance,
            "place": place,
            "picked": picked,
        }
    )


def _known(value: float) -> float | None:
    return round(float(value), _DECIMALS) if math.isfinite(value) else None
