"""What a temporary worker is told, what it takes to deploy one, and that a stack really answers."""

import json
import os
import subprocess
import sys

import pytest

from memsift_ops import environment, valkey
from memsift_ops.evaluation import deployment, worker
from memsift_schemas.settings import WorkerSettings
from tests.ops.eval.made_up import write_set


def test_a_temporary_worker_serves_what_was_asked(monkeypatch):
    monkeypatch.delenv("MEMSIFT_JEV_IDF_MEMORIES", raising=False)
    told = worker.worker_environment(["jev", "jev>local", "local"])
    assert told == {
        "MEMSIFT_RANKER": "jev",
        "MEMSIFT_ALSO_SERVE": "jev>local,local",
        "MEMSIFT_JEV_IDF_MEMORIES": "0",
    }
    monkeypatch.setenv("MEMSIFT_JEV_IDF_MEMORIES", "99")
    assert worker.worker_environment(["jev"])["MEMSIFT_JEV_IDF_MEMORIES"] == "99"


def test_the_environment_is_put_back(monkeypatch):
    monkeypatch.setenv("MEMSIFT_RANKER", "local")
    monkeypatch.delenv("MEMSIFT_ALSO_SERVE", raising=False)
    with environment.variables({"MEMSIFT_RANKER": "jev", "MEMSIFT_ALSO_SERVE": ""}):
        assert os.environ["MEMSIFT_RANKER"] == "jev"
    assert os.environ["MEMSIFT_RANKER"] == "local"
    assert "MEMSIFT_ALSO_SERVE" not in os.environ


def test_settings_of_a_run_hold_no_secret(monkeypatch):
    monkeypatch.setenv("MEMSIFT_NOX_API_KEY", "hunter2")
    monkeypatch.setenv("MEMSIFT_REDIS_URL", "redis://:hunter2@127.0.0.1:1/0")
    found = worker.relevant_settings()
    assert "hunter2" not in json.dumps(found)
    assert {"jev_weight_when", "weight_vector", "model"} <= set(found)


def test_only_a_worker_of_memsift_is_measured():
    assert worker.WorkerCpu(os.getpid()).seconds() is None
    assert worker.WorkerCpu(2**22 + 1).seconds() is None
    script = "import time; print('up', flush=True); time.sleep(30)"
    command = [sys.executable, "-c", script, "memsift_workers.app"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert worker.WorkerCpu(process.pid).seconds() >= 0
        process.kill()


@pytest.mark.parametrize(
    ("ranker", "fields", "ours", "expected"),
    [
        ("prefilter", {}, False, False),
        ("jev", {}, False, False),
        ("local", {}, True, False),
        ("local", {}, False, None),
        ("local", {"runtime": "sglang", "sglang_url": "http://9.9.9.9:30000"}, True, True),
        ("clef", {"clef_url": "http://10.1.2.3:8080"}, True, False),
        ("clef", {"clef_url": "http://9.9.9.9"}, True, True),
        ("jev>nox", {"nox_url": "https://9.9.9.9/v1"}, True, True),
        ("decision", {"decision_url": "nowhere"}, True, None),
        ("decision", {}, False, None),
    ],
)
def test_whether_memories_leave_the_network(ranker, fields, ours, expected):
    assert deployment.leaves_network(ranker, WorkerSettings(**fields), ours=ours) is expected


def test_what_a_chain_needs_is_named_once():
    assert deployment.needs("prefilter") == "nothing"
    assert deployment.needs("jev>clef") == "worker + /rerank server"


@pytest.mark.stack
def test_jev_is_measured_through_a_temporary_stack(tmp_path):
    # Given a set of our own and nobody at MEMSIFT_REDIS_URL
    environment = {**os.environ, "MEMSIFT_REDIS_URL": valkey.url(valkey.free_port())}
    report, run = tmp_path / "report.html", tmp_path / "run.jsonl"
    write_set(tmp_path)
    command = [
        sys.executable,
        "-m",
        "memsift_ops",
        "eval",
        "--data",
        str(tmp_path),
        "--ranker",
        "jev",
        "--json",
    ]
    command += ["--html", str(report), "--run", str(run)]
    # When it is measured, and the run is cut short and goes on
    first = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=110, check=False)
    assert first.returncode == 0, first.stderr
    run.write_text("".join(run.read_text().splitlines(keepends=True)[:-3]))
    second = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=110, check=False
    )
    assert second.returncode == 0, second.stderr
    # Then every question was the ranker's, and quality is the same both times
    jev, again = (json.loads(ended.stdout)["sets"]["small"]["jev"] for ended in (first, second))
    assert (jev["n"], jev["fell_back"]["n"], jev["leaves_network"]) == (12, 0, False)
    assert jev["cpu_ms"] is not None
    assert 0 < jev["rank_ms"]["p50"] < jev["latency_ms"]["p50"]
    for part in ("mrr", "p_at_1", "ndcg_at_10", "ci95", "by_category", "against_prefilter"):
        assert again[part] == jev[part]
    assert report.read_text().startswith("<!DOCTYPE html>")
