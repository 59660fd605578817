"""The evidence for each memory as numbers: a pure function, for the ranker to weigh and a fitter to fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memsift_schemas.job import RerankJob
from memsift_schemas.memory import Turn
from memsift_workers.rankers.jev.analysis import Class, Query, Text, analyse, analyse_query
from memsift_workers.rankers.jev.lexical import NOTHING_COUNTED, Collection, Floats, term_scores
from memsift_workers.rankers.jev.spans import Span, agreement, local_day, overlaps
from memsift_workers.rankers.jev.times import asks_when, dated_spans, spans, tells_clock
from memsift_workers.rankers.jev.updates import updates

# The columns of `features`, in order. A setting `jev_weight_<name>` weighs each.
FEATURES = (
    "similarity",  # the vector store's, as z-scores over the candidates
    "words",  # BM25 of terms that are none of the following four
    "names",  # BM25 of persons, places, relatives
    "verbs",  # BM25 of verbs
    "times",  # BM25 of time words
    "characters",  # BM25 of the characters of longer Chinese words
    "context",  # BM25 of what the last turns said, newer turns more
    "same_name",  # share of the question's names that the memory holds, 0 to 1
    "other_name",  # 1 if it holds none of them, others do, and it names somebody else
    "when",  # how well the times that it names fit those of the question, 0 to 1
    "learned",  # how well the day fits on which it was learned, 0 to 1
    "wrong_time",  # 1 (.5 for a vague question) if it names times, but not the asked, nor was learned then
    "tells_time",  # 1 if the question asks when and it names a time
    "updates",  # for a memory that corrects an older one: how much better that one fits the words
    "recency",  # halved every 90 days, as z-scores
)

_TURNS = 4
_TURN_DECAY = 0.7
_HALF_LIFE_S = 90 * 86_400.0  # the prefilter's default, measured there
_EXACT_DAYS = 2
_VAGUE_CONFLICT = 0.5
# What makes a memory fit a question beside its similarity, with the default weights.
_FIT = {"words": 0.6, "names": 0.6, "verbs": 0.6, "characters": 0.7}
# A spread below this, relative to the largest value, is rounding noise.
_LEAST_SPREAD = 1e-12
_CLASS_COLUMNS = (
    (Class.OTHER, "words"),
    (Class.NAME, "names"),
    (Class.VERB, "verbs"),
    (Class.TIME, "times"),
    (Class.CHARACTER, "characters"),
)


def features(job: RerankJob, collection: Collection = NOTHING_COUNTED) -> Floats:
    """Evidence for every candidate; the score is its product with the weights.

    The five BM25 columns and the context have one common scale, the standard deviation of their unweighted
    sum over the candidates, so that equal weights give BM25 as z-scores (up to a constant).

    Args:
        job: the question and its candidates; `prior` is not looked at.
        collection: how many memories of the user hold each term; without it the candidates tell.

    Returns:
        n_candidates × len(FEATURES), finite.
    """
    query = analyse_query(job.query)  # relative times (today, 下周三) are matched as days, not as words
    texts = [analyse(memory.text) for memory in job.candidates]
    columns = _lexical(query, texts, job.turns, collection)
    columns |= _names(query, texts)
    columns |= _times(query, texts, job)
    given = [np.nan if memory.similarity is None else memory.similarity for memory in job.candidates]
    similarity = normalised(np.array(given, dtype=np.float64))
    # A memory that came without a similarity is taken to be as similar as its words say.
    words = columns.pop("bm25")
    columns["similarity"] = np.where(np.isfinite(similarity), similarity, normalised(words, 0.0))
    fit = columns["similarity"] + sum(
        weight * columns[name] for name, weight in _FIT.items() if name in columns
    )
    corrected = updates(query.folded, texts, [memory.created_at for memory in job.candidates], fit)
    if corrected is not None:
        columns["updates"] = corrected
    ages = np.array(
        [
            np.nan if memory.created_at is None else (job.now - memory.created_at).total_seconds()
            for memory in job.candidates
        ]
    )
    columns["recency"] = normalised(np.exp2(-np.maximum(ages, 0.0) / _HALF_LIFE_S), 0.0)
    nothing = np.zeros(len(texts))
    return np.stack([columns.get(name, nothing) for name in FEATURES], axis=1)


def normalised(signal: Floats, missing: float = np.nan) -> Floats:
    """The signal as z-scores; `missing` where it is NaN, and everywhere when it tells no two apart."""
    result = np.full(signal.shape, missing)
    present = np.isfinite(signal)
    if not present.any():
        return result
    values = signal[present] / (np.abs(signal[present]).max() or 1.0)  # in [-1, 1]: squares cannot overflow
    if np.ptp(values) > _LEAST_SPREAD:
        centred = values - values.mean()
        result[present] = centred / centred.std()
    return result


def _lexical(
    query: Query, texts: Sequence[Text], turns: Sequence[Turn], collection: Collection
) -> dict[str, Floats]:
    scores = term_scores(list(query.text.counts), texts, collection)
    total = scores.sum(axis=1)
    scale = float(total.std()) or 1.0
    classes = np.array(query.classes, dtype=np.int64)
    columns = {
        name: scores[:, classes == sort].sum(axis=1) / scale
        for sort, name in _CLASS_COLUMNS
        if sort in query.classes
    }
    said: dict[str, float] = {}
    for ago, turn in enumerate(reversed(turns[-_TURNS:])):
        for term in analyse(turn.text).counts:
            if term not in query.text.counts:
                said.setdefault(term, _TURN_DECAY**ago)
    if said:
        weights = np.array(list(said.values()))
        columns["context"] = term_scores(list(said), texts, NOTHING_COUNTED) @ weights / scale
    columns["bm25"] = total
    return columns


def _names(query: Query, texts: Sequence[Text]) -> dict[str, Floats]:
    """Names of the question, held exactly. Names that all candidates hold, or none, tell nothing.

    A word is a name when the question or any of the memories writes it as one.
    """
    written = frozenset[str]().union(*(text.names for text in texts))
    asked = frozenset(query.names) | (written & query.text.counts.keys())
    if not asked:
        return {}
    held = np.array([[text.holds(name) for name in asked] for text in texts])
    telling = held.any(axis=0) & ~held.all(axis=0)
    if not telling.any():
        return {}
    share = held[:, telling].mean(axis=1)
    others = [any(text.holds(name) for name in written - asked) for text in texts]
    return {"same_name": share, "other_name": ((share == 0) & np.array(others)).astype(np.float64)}


def _times(query: Query, texts: Sequence[Text], job: RerankJob) -> dict[str, Floats]:
    asked = spans(query.folded, job.now.date())
    wants_time = asks_when(query.folded)
    if not asked and not wants_time:
        return {}
    learned = [
        None if memory.created_at is None else local_day(memory.created_at, job.now)
        for memory in job.candidates
    ]
    told = [
        dated_spans(text.folded) if on is None else spans(text.folded, on)
        for text, on in zip(texts, learned, strict=True)
    ]
    columns: dict[str, Floats] = {}
    if asked:
        columns["when"] = np.array([agreement(asked, times) for times in told])
        days = [() if on is None else (Span(on.toordinal(), on.toordinal()),) for on in learned]
        columns["learned"] = np.array([agreement(asked, day) for day in days])
        # A question about a day is meant more exactly than one about a month.
        conflict = 1.0 if all(span.last - span.first < _EXACT_DAYS for span in asked) else _VAGUE_CONFLICT
        wrong = [
            bool(times) and not overlaps(asked, times + day) for times, day in zip(told, days, strict=True)
        ]
        columns["wrong_time"] = conflict * np.array(wrong, dtype=np.float64)
    if wants_time:
        tells = [bool(times) or tells_clock(text.folded) for times, text in zip(told, texts, strict=True)]
        columns["tells_time"] = np.array(tells, dtype=np.float64)
    return columns
