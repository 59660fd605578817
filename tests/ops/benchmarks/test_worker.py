"""`memsift bench worker` on a real worker."""

import json

import pytest


@pytest.mark.stack
def test_a_small_load_is_held(run, tmp_path):
    out = tmp_path / "worker.json"
    code, printed, _ = run("bench", "worker", "--rate", "60", "--seconds", "1", "--out", out, "--json")
    told = json.loads(printed)
    assert code == 0, told
    for name in ("memsift", "memsift-queue"):
        held = told["held"][name]["60"]
        assert held["lost"] == held["refused"] == 0
        assert held["jobs"] == len(json.loads(out.read_text())["ms"][name]["60"])
        # A batch takes 15 ms: an answer in less came from somewhere else.
        assert held["p50_ms"] > 15
        assert held["worker_cpu_us"] > 0
    assert run("bench", "report", out, "--docs", tmp_path)[0] == 0
    assert "with Flower attached" in (tmp_path / "benchmarks.md").read_text()
