"""Why each memory came in or stayed out: every fate, with what the prefilter and the ranker said of it."""

from datetime import timedelta

import pytest

from memsift_producer import Reranker
from memsift_producer.explanation import Fate, explain
from memsift_schemas import Kind, Ranked, RerankResult, Source
from tests.samples import NOW, memory

QUERY = "Where is the spare key to the cabin?"


def given():
    """Six of which the last repeats the first, and is older."""
    made = [memory(at) for at in range(5)]
    return [*made, memory(9, text=made[0].text + "!", created_at=NOW - timedelta(days=300))]


async def explained(reranker, memories, **more):
    reranking = await reranker.rerank(query=QUERY, memories=memories, now=NOW, **more)
    return reranking, explain(QUERY, memories, reranking, now=NOW, settings=reranker.settings)


@pytest.fixture
async def keeps_three(valkey_url, queue):
    async with Reranker.from_url(valkey_url, queue=queue, deadline_ms=5_000, prefilter_keep=3) as one:
        yield one


async def test_every_memory_is_told_of_once_in_the_rankings_order(keeps_three, worker):
    reranking, told = await explained(keeps_three, given(), top_k=2)
    fates = [one.fate for one in told]
    assert fates == [Fate.SELECTED] * 2 + [Fate.OUTRANKED] + [Fate.PRUNED] * 2 + [Fate.DUPLICATE]
    assert [one.id for one in told[:3]] == [place.id for place in reranking.result.ranking]
    assert sorted(one.id for one in told) == sorted(one.id for one in given())
    assert [one.place for one in told] == [1, 2, 3, None, None, None]


async def test_what_the_prefilter_knew_is_what_it_ranked_by(reranker, worker):
    worker.answer = worker.refuse
    reranking, told = await explained(reranker, given())
    assert reranking.source is Source.PREFILTER
    for one in told[:5]:
        # Then the fallback's own scores and order come out of the signals
        assert one.prefilter_place == one.place
        assert one.prefilter_score == one.score
        assert "the prefilter put it at place" in one.why
        parts = one.signals
        mean = 0.6 * parts.similarity + 0.05 * parts.recency + 0.35 * parts.keywords
        assert one.score == pytest.approx(mean, abs=1e-9)


async def test_a_duplicate_names_the_one_that_stayed(reranker, worker):
    _, told = await explained(reranker, given())
    last = told[-1]
    assert (last.id, last.fate, last.duplicate_of) == ("m9", Fate.DUPLICATE, "m0")
    assert last.signals is last.prefilter_place is last.score is None


async def test_what_is_known_to_be_irrelevant_says_how_improbable_it_is(reranker, worker):
    def answer(job):
        values = (0.9, 0.05, 0.5, 0.04, 0.03)
        ranking = tuple(
            Ranked(id=one.id, score=-at, evidence=1.0 - at, relevance=value)
            for at, (one, value) in enumerate(zip(job.candidates, values, strict=True))
        )
        return RerankResult(job_id=job.id, ranking=ranking, source=Source.MODEL)

    worker.answer = answer
    _, told = await explained(reranker, given(), min_relevance=0.2, top_k=1)
    fates = [one.fate for one in told]
    assert fates == [Fate.SELECTED, Fate.IRRELEVANT, Fate.OUTRANKED, *[Fate.IRRELEVANT] * 2, Fate.DUPLICATE]
    assert told[1].why == "it helps with a probability of 0.05, below the least of 0.20"
    assert (told[0].evidence, told[0].relevance) == (1.0, 0.9)


async def test_unknown_signals_are_none_and_kinds_are_guessed(reranker, worker):
    bare = [memory(at, created_at=None, similarity=None) for at in range(3)]
    _, told = await explained(reranker, bare)
    assert {(one.signals.similarity, one.signals.recency) for one in told} == {(None, None)}
    assert all(one.signals.keywords is not None for one in told)
    assert {one.kind for one in told} <= {Kind.TIME_BOUND, Kind.FACT, Kind.PREFERENCE}


async def test_no_word_of_a_memory_is_in_it(reranker, worker):
    _, told = await explained(reranker, [memory(at, text=f"xyzzy number {at}") for at in range(4)])
    assert "xyzzy" not in repr(told)
