"""`memsift eval --strategy` and `--prices`, with known answers, and once with real workers."""

import json
import os
import subprocess
import sys

import pytest

from memsift_ops import valkey
from memsift_ops.evaluation import running, worker
from memsift_ops.services import WorkerInfo
from tests.ops.eval.made_up import write_set
from tests.ops.eval.test_eval_command import run, served

__all__ = ["run", "served"]

LISTWISE = WorkerInfo(runtime="r", model="m", strategy="listwise", ranker="local", pid=1)
TWO = ("--ranker", "jev,local,jev>local", "--strategy", "likelihood,listwise")
NAMES = [
    "prefilter",
    "jev",
    "local[likelihood]",
    "local[listwise]",
    "jev>local[likelihood]",
    "jev>local[listwise]",
]


@pytest.fixture
def ready(monkeypatch):
    """The workers that are ready at MEMSIFT_REDIS_URL."""
    found = []
    monkeypatch.setattr(worker.services, "ready_workers", lambda _url, _queue: found)
    return found


def test_each_strategy_has_a_worker_and_rows_of_its_own(run, served, ready):
    code, out, _ = run(*TWO, "--json")
    assert code == 0
    told = json.loads(out)
    assert list(told["sets"]["small"]) == NAMES
    assert told["arguments"]["rankers"] == NAMES
    assert told["worker"]["strategy"] == "likelihood, listwise"
    assert served == [["local", "jev>local", "likelihood"], ["local", "jev>local", "listwise"], ["jev"]]
    assert told["sets"]["small"]["jev>local[listwise]"]["needs"] == "worker + model"


def test_without_the_option_names_and_worker_are_as_ever(run, served, ready):
    told = json.loads(run("--ranker", "local", "--json")[1])
    assert list(told["sets"]["small"]) == ["prefilter", "local"]
    assert (served, told["worker"]["strategy"]) == ([["local"]], "s")


@pytest.mark.parametrize("after", [0, 13, 30, 55, 71])
def test_a_killed_run_goes_on_with_the_strategies_that_it_lacks(
    run, served, ready, tmp_path, monkeypatch, after
):
    # Given what an unbroken run tells
    whole = run(*TWO, "--json")[1]
    # When one is interrupted after some questions
    kept = running.RunFile.add

    def interrupted(self, outcome):
        if len(self.outcomes) == after:
            raise KeyboardInterrupt
        kept(self, outcome)

    path = str(tmp_path / "run.jsonl")
    monkeypatch.setattr(running.RunFile, "add", interrupted)
    assert run(*TWO, "--json", "--run", path)[0] == 130
    monkeypatch.setattr(running.RunFile, "add", kept)
    # Then it goes on with the rest, and tells the same
    assert run(*TWO, "--json", "--run", path)[1] == whole
    # And the file is no run of other strategies
    code, _, err = run("--ranker", "jev,local", "--strategy", "listwise", "--run", path)
    assert code == 2
    assert "name another file, or delete it" in err


def test_a_running_worker_has_one_strategy(run, served, ready):
    ready.append(LISTWISE)
    code, _, err = run(*TWO)
    assert (code, served) == (2, [])
    assert "asks by listwise, not by likelihood: stop it, or set MEMSIFT_REDIS_URL to where none runs" in err
    # Its own it can answer
    assert run("--ranker", "local", "--strategy", "listwise")[0] == 0
    assert run("--ranker", "local")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ("--ranker", "local", "--strategy", "guess"),
            "strategies are likelihood, pointwise, listwise, scorecard",
        ),
        (("--ranker", "local", "--strategy", " , "), "strategies are likelihood"),
        (("--ranker", "jev", "--strategy", "listwise"), "name local, or a chain with it, in --ranker"),
        (("--ranker", "local[listwise]"), "rankers are prefilter, local"),
        (("--ranker", "jev", "--prices", "no-such.toml"), "cannot read no-such.toml"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_it_starts(run, served, arguments, said):
    code, _, err = run(*arguments)
    assert (code, served) == (2, [])
    assert said in err


def test_the_strategy_of_a_temporary_worker_is_put_into_its_environment(monkeypatch, ready):
    seen = []

    def temporary(what, *, model):
        seen.append((what, os.environ["MEMSIFT_STRATEGY"], model))
        return worker.contextlib.nullcontext("answering")

    monkeypatch.setenv("MEMSIFT_STRATEGY", "pointwise")
    monkeypatch.setattr(worker, "temporary", temporary)
    with worker.serving(["jev>local"], "listwise") as answering:
        assert answering == "answering"
    assert seen == [("a worker that serves jev>local by listwise", "listwise", True)]
    assert os.environ["MEMSIFT_STRATEGY"] == "pointwise"


def test_a_price_file_tells_the_cost_and_is_told(run, served, ready, tmp_path):
    path = tmp_path / "ours.toml"
    path.write_text('date = "2026-10-01"\n[local]\nusd_per_million_prompt_tokens = 0.5\n', encoding="utf-8")
    code, out, _ = run(*TWO, "--prices", str(path), "--json")
    assert code == 0
    told = json.loads(out)
    assert told["prices"] == {"name": "ours.toml", "date": "2026-10-01"}
    costs = {name: one["cost_per_million"] for name, one in told["sets"]["small"].items()}
    assert costs == dict.fromkeys(NAMES, pytest.approx(1_000)) | {"prefilter": 0, "jev": 0}
    printed = run(*TWO, "--prices", str(path))[1]
    assert "prices: ours.toml, 2026-10-01\n" in printed
    assert "jev: worker; local: worker + model; jev>local: worker + model\n" in printed


def test_a_finished_run_is_priced_anew_without_asking(run, served, ready, tmp_path):
    arguments = ("--ranker", "clef", "--json", "--run", str(tmp_path / "run.jsonl"), "--prices")
    # Given a run of a ranker whose service has no price in ours
    code, out, _ = run(*arguments, "default")
    assert code == 0
    assert json.loads(out)["sets"]["small"]["clef"]["cost_per_million"] is None
    served.clear()
    # When it gets one
    path = tmp_path / "ours.toml"
    path.write_text("[clef]\nusd_per_call = 0.001\n")
    again = json.loads(run(*arguments, str(path))[1])
    # Then the same run tells it
    assert again["sets"]["small"]["clef"]["cost_per_million"] == pytest.approx(1_000)
    assert served == []


def test_an_unknown_cost_is_a_dash_in_the_table(run, served, ready):
    out = run("--ranker", "clef", "--prices", "default")[1]
    (row,) = [cells for line in out.splitlines() if (cells := line.split())[:1] == ["clef"]]
    assert row[-2:] == ["-", "unknown"]
    assert "prices: default, 2026-11-29" in out


def test_help_has_headings(capsys):
    from memsift_ops import group

    assert group.run(["eval", "--help"]) == 0
    out = capsys.readouterr().out
    titles = [
        "What is measured:",
        "Who is measured:",
        "What comes out:",
        "Learning instead of measuring:",
        "Options:",
    ]
    places = [out.index(title) for title in titles]
    assert places == sorted(places)
    for option in ("--data", "--strategy", "--prices", "--fit", "--help"):
        assert out.count(f"  {option} ") + out.count(f", {option} ") >= 1


@pytest.mark.stack
def test_strategies_are_measured_by_workers_of_their_own(tmp_path):
    # Given a set of our own, nobody at MEMSIFT_REDIS_URL, and a runtime that needs no model
    environment = {
        **os.environ,
        "MEMSIFT_REDIS_URL": valkey.url(valkey.free_port()),
        "MEMSIFT_RUNTIME": "scripted",
    }
    write_set(tmp_path)
    arguments = ["--ranker", "local", "--strategy", "likelihood,pointwise", "--limit", "3", "--json"]
    path = tmp_path / "run.jsonl"
    command = [sys.executable, "-m", "memsift_ops", "eval", "--data", str(tmp_path), *arguments]
    command += ["--run", str(path)]

    def measured():
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=55, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended

    ended = measured()
    # Then both have answered every question
    told = json.loads(ended.stdout)
    found = told["sets"]["small"]
    assert {name: one["n"] for name, one in found.items()} == {
        "prefilter": 3,
        "local[likelihood]": 3,
        "local[pointwise]": 3,
    }
    assert "a worker that serves local by pointwise" in ended.stderr
    assert told["temporary_worker"] is True
    # And of a run that was cut short only what is missing is asked again
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    again = measured()
    assert "a worker that serves local by likelihood" not in again.stderr
    assert (
        json.loads(again.stdout)["sets"]["small"]["local[pointwise]"]["mrr"]
        == found["local[pointwise]"]["mrr"]
    )
