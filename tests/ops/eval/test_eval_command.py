"""The command from arguments to report, with a reranker whose answers are known."""

import contextlib
import dataclasses
import json
import os

import pytest

from memsift_ops import group
from memsift_ops.evaluation import running, worker
from memsift_ops.local import Answering
from memsift_ops.services import WorkerInfo
from tests.ops.eval.made_up import SECRET, FakeReranker, write_set

METRICS = {"p_at_1", "p_at_3", "hit_at_3", "recall_at_5", "mrr", "ndcg_at_10"}
INFO = WorkerInfo(runtime="r", model="m", strategy="s", ranker="jev", pid=os.getpid())


class Opened(FakeReranker):
    """A `Reranker`'s outside."""

    @classmethod
    def from_url(cls, *_args, **_settings):
        return cls()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_error):
        pass

    async def close(self):
        pass


@pytest.fixture
def served(monkeypatch):
    """Answers come from `Opened`; which rankers were started for."""
    asked = []

    @contextlib.contextmanager
    def serving(rankers, strategy=None):
        asked.append([*rankers, strategy] if strategy else list(rankers))
        yield Answering("redis://nowhere", "q", INFO)

    monkeypatch.setattr(worker, "serving", serving)
    monkeypatch.setattr(running, "Reranker", Opened)
    # The prefilter's CPU time is the one thing that differs from run to run.
    monkeypatch.setattr(running.asking.time, "process_time", lambda: 0.0)
    return asked


@pytest.fixture
def run(capsys, tmp_path):
    write_set(tmp_path)

    def run(*arguments):
        code = group.run(["eval", "--data", str(tmp_path), *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


def test_json_has_its_shape(run, served):
    code, out, _ = run("--ranker", "jev,prefilter,jev>local", "--json")
    assert code == 0
    told = json.loads(out)
    assert set(told) == {
        "sets",
        "machine",
        "versions",
        "arguments",
        "in_sample",
        "prices",
        "worker",
        "temporary_worker",
    }
    assert told["prices"] is None
    assert served == [["jev", "jev>local"]]
    rankers = told["sets"]["small"]
    assert list(rankers) == ["prefilter", "jev", "jev>local"]
    for name, one in rankers.items():
        assert set(one) >= METRICS
        assert set(one["ci95"]) == METRICS
        assert set(one["latency_ms"]) == {"p50", "p95", "p99"}
        assert one["n"] == (12 if name == "prefilter" else 9)
    # Of a worker that is not ours nobody knows what `local` talks to.
    assert [one["leaves_network"] for one in rankers.values()] == [False, False, None]
    assert rankers["jev"]["cost_per_million"] == pytest.approx(200)
    assert rankers["jev>local"]["needs"] == "worker + model"


def test_a_table_for_people(run, served):
    code, out, _ = run("--ranker", "jev")
    assert code == 0
    assert "6,000" in out  # 200 dollars a million, thirty million a month
    assert "small, jev: 3 fell back (deadline 3)" in out
    assert "to deploy: prefilter: nothing; jev: worker" in out
    assert max(map(len, out.splitlines())) <= 80


def test_the_prefilter_alone_needs_no_worker(run, served):
    code, out, _ = run("--ranker", "prefilter", "--json")
    assert (code, served) == (0, [])
    assert json.loads(out)["worker"] is None


@pytest.mark.parametrize("after", [0, 1, 5, 11, 13, 23])
def test_a_killed_run_goes_on_and_tells_the_same(run, served, tmp_path, monkeypatch, after):
    # Given what an unbroken run tells
    whole = run("--ranker", "jev", "--json")[1]
    # When a run is interrupted after some questions
    kept = running.RunFile.add

    def interrupted(self, outcome):
        if len(self.outcomes) == after:
            raise KeyboardInterrupt
        kept(self, outcome)

    arguments = ("--ranker", "jev", "--json", "--run", str(tmp_path / "run.jsonl"))
    monkeypatch.setattr(running.RunFile, "add", interrupted)
    assert run(*arguments)[0] == 130
    monkeypatch.setattr(running.RunFile, "add", kept)
    # Then it goes on with the rest, and tells the same
    assert run(*arguments)[1] == whole
    lines = (tmp_path / "run.jsonl").read_text().splitlines()
    assert len(lines) == 1 + 24
    assert SECRET.split(" &", maxsplit=1)[0] not in "".join(lines)
    # And once complete it asks nobody
    served.clear()
    assert run(*arguments)[1] == whole
    assert served == []


def test_a_run_with_other_arguments_or_settings_is_refused(run, served, tmp_path, monkeypatch):
    path = str(tmp_path / "run.jsonl")
    assert run("--ranker", "jev", "--run", path)[0] == 0
    code, _, err = run("--ranker", "jev", "--seed", "2", "--run", path)
    assert code == 2
    assert "name another file, or delete it" in err
    monkeypatch.setenv("MEMSIFT_JEV_WEIGHT_WHEN", "1.5")
    assert run("--ranker", "jev", "--run", path)[0] == 2


def test_a_run_is_not_finished_by_another_worker(run, served, tmp_path, monkeypatch):
    path = tmp_path / "run.jsonl"
    assert run("--ranker", "jev", "--run", str(path))[0] == 0
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    monkeypatch.setitem(globals(), "INFO", INFO.model_copy(update={"model": "other"}))
    code, _, err = run("--ranker", "jev", "--run", str(path))
    assert code == 2
    assert "another worker answered the first part" in err


def test_a_ranker_without_any_answer_is_no_measure(run, served, monkeypatch):
    class Silent(Opened):
        async def rerank(self, *, query, **question):
            return await super().rerank(query="What is note number 1?", **question)

    monkeypatch.setattr(running, "Reranker", Silent)
    code, out, err = run("--ranker", "jev", "--json")
    assert code == 1
    assert json.loads(out)["sets"]["small"]["jev"]["mrr"] is None
    assert "no answer came from jev on small" in err


@pytest.mark.parametrize("rankers", ["bm25", "jev>bm25", "prefilter>jev"])
def test_an_unknown_ranker_is_refused(run, rankers):
    code, _, err = run("--ranker", rankers)
    assert code == 2
    assert "rankers are prefilter, local, jev, clef, nox, decision" in err


@pytest.mark.parametrize("show_text", [False, True])
def test_texts_and_reasons_are_in_report_and_run_only_with_show_text(
    run, served, tmp_path, monkeypatch, show_text
):
    class Telling(Opened):
        async def rerank(self, **question):
            found = await super().rerank(**question)
            return dataclasses.replace(
                found, result=found.result.model_copy(update={"reason": "Mara said so"})
            )

    monkeypatch.setattr(running, "Reranker", Telling)
    html, kept = tmp_path / "report.html", tmp_path / "run.jsonl"
    arguments = ["--ranker", "jev", "--html", str(html), "--run", str(kept)] + ["--show-text"] * show_text
    assert run(*arguments)[0] == 0
    assert ("Mara said so" in html.read_text()) == ("note number" in html.read_text()) == show_text
    assert ("Mara said so" in kept.read_text()) == show_text
    assert "note number" not in kept.read_text()


def test_an_html_report_that_cannot_be_written(run, served, tmp_path):
    code, _, err = run("--ranker", "jev", "--html", str(tmp_path / "none" / "report.html"))
    assert code == 2
    assert "cannot write" in err
