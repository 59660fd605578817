"""`memsift bench rank` on our own set."""

import json
from pathlib import Path

import pytest

from memsift_ops import datasets
from memsift_ops.errors import Failure
from memsift_ops.rank_bench import ranked
from memsift_ops.rank_bench.others import Other, Running, others
from memsift_ops.rank_bench.ours import Prefilter
from tests.workers.rankers.clef_server import RerankProcess

DATA = Path(__file__).parents[2] / "data"
ASKED = ("bench", "rank", "--data", DATA, "--limit", "4")


@pytest.fixture(scope="module")
def cases():
    return datasets.load(DATA, "time", limit=4)


def test_our_first_stages_and_what_cannot_run(run, tmp_path):
    out = tmp_path / "rank.json"
    only = ("--ranker", "prefilter", "--ranker", "jev", "--ranker", "cross-encoder")
    code, printed, _ = run(*ASKED, *only, "--out", out, "--json")
    assert code == 0
    told = json.loads(printed)
    assert set(told["sets"]["time"]) == {"prefilter", "jev"}
    assert told["sets"]["time"]["jev"]["questions"] == 4
    assert "--cross-encoder FOLDER" in told["not_run"]["cross-encoder"]
    assert run("bench", "report", out, "--docs", tmp_path)[0] == 0
    page = (tmp_path / "benchmarks.md").read_text()
    assert "cross-encoder was not run" in page
    assert "| jev |" in page


def test_every_candidate_is_ranked_once(cases):
    for case in cases:
        ranking = Prefilter().rank(case).ranking
        assert sorted(ranking) == sorted(memory.id for memory in case.memories)


def test_ties_keep_the_order_of_recall(cases):
    ids = [memory.id for memory in cases[0].memories]
    assert ranked.by_scores(cases[0], [0.0] * len(ids)) == ids
    assert ranked.by_scores(cases[0], [0.0] * (len(ids) - 1) + [1.0])[0] == ids[-1]


@pytest.mark.install
@pytest.mark.timeout(300)
def test_bm25_in_its_own_environment(cases):
    for name in ("bm25s", "rank-bm25"):
        running = Running(others()[name])
        try:
            found = running.rank(cases[0])
        finally:
            running.close()
        assert sorted(found.ranking) == sorted(memory.id for memory in cases[0].memories)
        assert found.ms > 0


@pytest.mark.install
def test_a_reranker_that_dies_is_told_with_its_last_words(cases):
    running = Running(Other("no-such", others()["rank-bm25"].packages, "none"))
    try:
        with pytest.raises(Failure) as told:
            running.rank(cases[0])
        assert "KeyError" in "\n".join(told.value.log)
    finally:
        running.close()


def test_a_server_elsewhere_comes_in_by_its_url(run):
    server = RerankProcess("tei")
    try:
        code, printed, _ = run(*ASKED, "--server", f"mine={server.url}", "--ranker", "mine", "--json")
        bodies = server.bodies()
    finally:
        server.stop()
    assert code == 0
    assert json.loads(printed)["sets"]["time"]["mine"]["questions"] == 4
    assert bodies


def test_a_server_that_is_not_there_is_told(run):
    code, printed, _ = run(*ASKED, "--server", "mine=http://127.0.0.1:1", "--ranker", "mine", "--json")
    assert code == 0
    assert "mine" in json.loads(printed)["not_run"]


def test_a_ranker_that_nobody_knows_is_refused(run):
    code, _, said = run(*ASKED, "--ranker", "oracle")
    assert code == 2
    assert "prefilter" in said
    assert run(*ASKED, "--server", "somewhere")[0] == 2
