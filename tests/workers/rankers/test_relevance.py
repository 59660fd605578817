"""What a worker makes of evidence: with a curve, without one, and when the evidence is none."""

import logging
import math

import pytest

from memsift_schemas import Cause
from memsift_schemas.calibration import Calibration, Curve
from memsift_schemas.settings import WorkerSettings
from memsift_workers.rankers.base import RankFault, Scores
from memsift_workers.rankers.jev import JevRanker
from memsift_workers.rankers.relevance import Relevance
from tests.samples import NOW, job, memory

STEP = Curve(method="isotonic", knots=((0.0, 0.1), (1.0, 0.9)), n=9, positives=3)


class Named:
    def __init__(self, name, model=""):
        self.name, self.model = name, model


def test_evidence_becomes_relevance_and_decides_what_is_selected():
    relevance = Relevance(Calibration(curves={"jev": STEP}))
    scores = Scores(values=(1.0, 2.0, 3.0), evidence=(1.0, 0.5, 0.0))
    result = relevance.result(job(3, min_relevance=0.4), scores, Named("jev"))
    # The best by score has the least evidence: what is left out need not be the last.
    assert [(place.id, place.relevance) for place in result.ranking] == [
        ("m2", 0.1),
        ("m1", pytest.approx(0.5)),
        ("m0", 0.9),
    ]
    assert result.selected == ("m1", "m0")


def test_a_ranker_without_evidence_has_its_scores_taken():
    relevance = Relevance(Calibration(curves={"decision": STEP}))
    result = relevance.result(job(2), Scores(values=(0.25, 1.0)), Named("decision"))
    assert [place.evidence for place in result.ranking] == [1.0, 0.25]
    assert [place.relevance for place in result.ranking] == [0.9, pytest.approx(0.3)]


@pytest.mark.parametrize("ranker", [Named("clef"), Named("jev", "another")])
def test_without_a_curve_nothing_is_cut_and_that_is_said_once(caplog, ranker):
    curve = STEP.model_copy(update={"model": "one"})
    relevance = Relevance(Calibration(curves={"jev": curve}))
    with caplog.at_level(logging.WARNING, "memsift.worker"):
        relevance.result(job(2), Scores(values=(1.0, 2.0)), ranker)
        assert not caplog.records
        for _ in range(3):
            whole = job(2, min_relevance=1.0)
            result = relevance.result(whole, Scores(values=(1.0, 2.0)), ranker)
            assert [place.relevance for place in result.ranking] == [None, None]
            assert result.selected == ("m1", "m0")
    (said,) = caplog.messages
    assert "MEMSIFT_CALIBRATION" in said
    assert ranker.name in said
    assert whole.query not in said


@pytest.mark.parametrize("evidence", [(1.0,), (1.0, math.nan), (1.0, math.inf), ()])
def test_evidence_that_is_not_one_finite_number_each_is_garbage(evidence):
    with pytest.raises(RankFault) as caught:
        Relevance(Calibration()).result(job(2), Scores(values=(1.0, 2.0), evidence=evidence), Named("jev"))
    assert caught.value.cause is Cause.RUNTIME_GARBAGE


@pytest.mark.parametrize(
    ("texts", "asked", "unanswered"),
    [
        (
            ["The spare key lies under the pot.", "Mara plays the cello.", "Jonas hates thunder."],
            "Where is the spare key?",
            "Which film won the prize?",
        ),
        (
            ["备用钥匙放在花盆下面。", "小林每周去拉大提琴。", "团子最怕打雷。"],
            "备用钥匙放在哪里？",
            "去年获奖的电影是哪一部？",
        ),
    ],
)
async def test_jevs_evidence_compares_across_questions(texts, asked, unanswered):
    ranker = JevRanker(WorkerSettings(jev_idf_memories=0))
    candidates = tuple(memory(at, id=f"m{at}", text=text) for at, text in enumerate(texts))
    jobs = [job(query=query, candidates=candidates, prior=(), now=NOW) for query in (asked, unanswered)]
    with_answer, without = await ranker.rank(jobs, timeout=5)
    await ranker.close()
    assert with_answer.evidence[0] == max(with_answer.evidence)
    assert with_answer.evidence[0] > max(without.evidence) + 0.5
