"""`memsift bench queue` on a real Valkey with real workers, short."""

import json
import os
import time

import pytest

from memsift_ops.benchmarks.cpu_clock import cpu_s
from memsift_ops.peers import environments
from memsift_ops.peers.systems import systems

TINY = ("--task", "batched", "--rate", "50", "--seconds", "1", "--rounds", "1", "--backlog", "300")


@pytest.mark.stack
@pytest.mark.parametrize("name", ["memsift", "memsift-queue"])
def test_memsift_alone(run, tmp_path, name):
    out = tmp_path / "queue.json"
    code, printed, _ = run("bench", "queue", "--system", name, *TINY, "--out", out, "--json")
    assert code == 0
    told = json.loads(printed)["systems"][name]
    assert told["drain_jobs_per_s"] > 0
    assert told["50"]["lost"] == 0
    # A batch takes 15 ms: an answer in less came from somewhere else.
    assert told["50"]["p50_ms"] > 15
    assert told["50"]["worker_cpu_us"] > 0
    written = json.loads(out.read_text())
    assert len(written["rounds"][name][0]["loads"]["50"]["ms"]) == told["50"]["calls"]
    assert written["machine"]["cores"]


@pytest.mark.install
@pytest.mark.timeout(300)
def test_a_peer_in_its_own_environment(run, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMSIFT_CACHE_DIR", str(tmp_path))
    code, printed, said = run("bench", "queue", "--system", "saq", *TINY, "--json")
    assert code == 0
    assert "installing saq" in said
    told = json.loads(printed)["systems"]["saq"]
    assert told["50"]["lost"] == 0
    assert told["50"]["p50_ms"] > 15
    saq = systems()["saq"]
    assert environments.is_there(saq.name, saq.packages)


def test_unknown_systems_and_rates_are_refused(run):
    code, _, said = run("bench", "queue", "--system", "kafka")
    assert code == 2
    assert "celery" in said
    assert run("bench", "queue", "--rate", "fast")[0] == 2


def test_every_package_is_pinned():
    for system in systems().values():
        assert all(package.count("==") == 1 for package in system.packages)
        assert system.worker
        assert system.ours == system.name.startswith("memsift")


def test_an_environment_is_named_by_its_packages(monkeypatch, tmp_path):
    monkeypatch.setenv("MEMSIFT_CACHE_DIR", str(tmp_path))
    assert environments.home("x", ["a==1"]) != environments.home("x", ["a==2"])
    assert environments.home("x", ["a==1"]).parent == tmp_path / "peers"


def test_cpu_time_is_counted_finer_than_the_kernels_ticks():
    before = cpu_s(os.getpid())
    ends = time.process_time() + 0.003
    while time.process_time() < ends:
        pass
    assert 0.003 <= cpu_s(os.getpid()) - before < 1.0
    assert cpu_s(2**22 + 1) == 0.0
