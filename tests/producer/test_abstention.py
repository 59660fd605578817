"""When nothing answers, the prompt holds no memory: by the worker's word, and by the prefilter's."""

import pytest

from memsift_producer import Reranker, SyncReranker
from memsift_schemas import InvalidInput, Ranked, RerankResult, SettingsError, Source
from memsift_schemas.calibration import Calibration, Curve
from tests.samples import NOW, memories, memory

ASK = {"query": "Where is the spare key to the cabin?", "now": NOW}
STEP = Curve(method="isotonic", knots=((2.4, 0.05), (2.8, 0.95)), n=90, positives=30)
STORES = {
    "en": (
        [
            "The spare key to the cabin lies under the blue pot.",
            "Mara plays the cello in the town orchestra.",
            "The neighbours' dog is afraid of thunder.",
            "The electricity bill is due on the third.",
            "Jonas moved to Trieste for a new job.",
        ],
        "Where is the spare key to the cabin?",
        "Which film won the prize last year?",
    ),
    "zh": (
        [
            "备用钥匙放在门口的蓝色花盆下面。",
            "小林每周二去乐团拉大提琴。",
            "邻居家的狗最怕打雷。",
            "每个月三号要交电费。",
            "阿杰一月份换了工作，搬到了成都。",
        ],
        "备用钥匙放在哪里？",
        "去年获奖的电影是哪一部？",
    ),
}


@pytest.fixture
def calibration(tmp_path):
    path = tmp_path / "calibration.json"
    path.write_text(Calibration(curves={"prefilter": STEP}).model_dump_json())
    return str(path)


def with_relevance(*relevance):
    """A worker's reply that ranks the candidates as they came."""

    def answer(job):
        ranking = tuple(
            Ranked(id=one.id, score=-at, relevance=relevance[at]) for at, one in enumerate(job.candidates)
        )
        return RerankResult(job_id=job.id, ranking=ranking, source=Source.MODEL)

    return answer


async def test_what_the_worker_knows_to_be_irrelevant_stays_out_of_the_prompt(reranker, worker):
    worker.answer = with_relevance(0.2, 0.8, None, 0.7)
    found = await reranker.rerank(memories=memories(4), top_k=2, min_relevance=0.5, **ASK)
    whole = [place.id for place in found.result.ranking]
    assert len(whole) == 4
    assert [one.id for one in found.memories()] == [whole[1], whole[2]]
    assert found.result.selected == (whole[1], whole[2])
    assert not found.abstained
    assert worker.jobs[0].min_relevance == 0.5


async def test_when_none_is_left_it_abstains_and_says_so(reranker, worker):
    worker.answer = with_relevance(0.2, 0.1)
    found = await reranker.rerank(memories=memories(2), min_relevance=0.5, **ASK)
    assert (found.abstained, found.texts(), found.result.selected) == (True, [], ())
    assert (found.source, found.cause, len(found.result.ranking)) == (Source.MODEL, None, 2)


@pytest.mark.parametrize(("demand", "abstains"), [(0.0, False), (1.0, True)])
async def test_at_the_extremes(reranker, worker, demand, abstains):
    worker.answer = with_relevance(0.0, 0.999)
    found = await reranker.rerank(memories=memories(2), min_relevance=demand, **ASK)
    assert found.abstained is abstains


async def test_a_worker_without_a_calibration_cuts_nothing(reranker, worker):
    found = await reranker.rerank(memories=memories(4), top_k=3, min_relevance=1.0, **ASK)
    assert len(found.memories()) == len(found.result.selected) == 3
    assert all(place.relevance is None for place in found.result.ranking)
    assert not found.abstained


async def test_the_setting_is_the_default_and_an_argument_beats_it(valkey_url, queue, worker):
    worker.answer = with_relevance(0.3)
    async with Reranker.from_url(valkey_url, queue=queue, deadline_ms=5_000, min_relevance=0.5) as one:
        assert (await one.rerank(memories=memories(1), **ASK)).abstained
        assert not (await one.rerank(memories=memories(1), min_relevance=0.1, **ASK)).abstained


@pytest.mark.parametrize("tongue", STORES)
async def test_the_fallback_abstains_too(tongue, calibration):
    # Never opened, so that the prefilter answers at once.
    texts, asked, unanswered = STORES[tongue]
    store = [memory(at, id=f"m{at}", text=text, similarity=None) for at, text in enumerate(texts)]
    one = Reranker.from_url(calibration=calibration, min_relevance=0.5)
    found = await one.rerank(query=asked, memories=store, now=NOW)
    assert (found.source, found.abstained) == (Source.PREFILTER, False)
    assert found.memories()[0].id == "m0"
    assert found.result.ranking[0].relevance > 0.5
    nothing = await one.rerank(query=unanswered, memories=store, now=NOW)
    assert (nothing.abstained, nothing.texts(), nothing.result.selected) == (True, [], ())
    assert len(nothing.result.ranking) == len(store)
    await one.close()


async def test_no_memories_at_all_is_no_abstention(calibration):
    one = Reranker.from_url(calibration=calibration, min_relevance=1.0)
    found = await one.rerank(query="?", memories=[])
    assert not found.abstained
    await one.close()


def test_threads_may_ask_for_it_too(calibration):
    with SyncReranker.from_url("redis://127.0.0.1:1/0", calibration=calibration) as one:
        found = one.rerank(query="Which film won?", memories=memories(3), min_relevance=1.0, deadline=0.2)
    assert found.abstained


@pytest.mark.parametrize("demand", [1.01, -0.01, float("nan")])
async def test_a_demand_that_is_no_probability_is_refused(demand):
    one = Reranker.from_url()
    with pytest.raises(InvalidInput, match="min_relevance"):
        await one.rerank(memories=memories(1), min_relevance=demand, **ASK)
    await one.close()


def test_a_broken_calibration_is_refused_at_once(tmp_path):
    path = tmp_path / "broken.json"
    path.write_text('{"memsift_calibration": 1, "curves": {"prefilter": {"method": "isotonic"')
    with pytest.raises(SettingsError, match=r"^MEMSIFT_CALIBRATION"):
        Reranker.from_url(calibration=str(path))
