"""The committed ratios: a regression fails, noise does not."""

import json

import pytest

from memsift_ops.benchmarks import baseline
from tests.ops.benchmarks.made_up import queue_result


@pytest.fixture
def held(tmp_path):
    """A baseline of what is measured now."""
    path = tmp_path / "baseline.toml"
    path.write_text(baseline.written(queue_result()["ratios"]))
    return path


@pytest.fixture
def check(run, tmp_path, held):
    """Judge a result by that baseline."""

    def judge(result, *more):
        path = tmp_path / "result.json"
        path.write_text(json.dumps(result))
        return run("bench", "check", "--measured", path, "--baseline", held, *more)

    return judge


def test_the_same_again_passes(check):
    code, out, _ = check(queue_result())
    assert code == 0
    assert "worse" not in out


def test_a_little_slower_is_noise(check):
    assert check(queue_result(ours=1.1))[0] == 0


def test_a_faked_regression_fails_and_is_named(check):
    code, out, _ = check(queue_result(ours=1.8), "--json")
    assert code == 1
    told = json.loads(out)
    assert "saq, backlog: jobs_per_worker_core" in told["worse"]
    assert len(told["worse"]) == len(told["verdicts"])


def test_one_worse_ratio_is_enough(check):
    result = queue_result()
    result["ratios"]["saq"]["200"]["worker_cpu_us"]["median"] /= 2
    code, out, _ = check(result, "--json")
    assert code == 1
    assert json.loads(out)["worse"] == ["saq, 200 jobs/s: worker_cpu_us"]


def test_a_ratio_that_is_no_longer_measured_is_worse(check):
    result = queue_result()
    del result["ratios"]["saq"]["200"]
    code, out, _ = check(result)
    assert code == 1
    assert "worse" in out


def test_a_faster_machine_changes_nothing(check):
    result = queue_result()
    for rounds in result["rounds"].values():
        for one in rounds:
            one["drain"]["worker_cpu_s"] /= 3
    assert check(result)[0] == 0


def test_noise_is_what_the_rounds_differ_by():
    ratios = {"saq": {"jobs_per_worker_core": {"median": 2.0, "least": 1.2, "most": 2.5}}}
    assert "noise = 0.80" in baseline.written(ratios)


def test_the_committed_baseline_can_be_read_and_is_of_ratios():
    held = baseline.read(baseline.FILE)
    assert all(0 < one["noise"] < 1 and one["ratio"] > 0 for one in held.values())
    assert any("jobs_per_worker_core" in name for name in held)


@pytest.fixture
def measured(monkeypatch):
    """What comes out when one measures, time after time."""

    def give(*results):
        left = iter(results)
        monkeypatch.setattr("memsift_ops.commands.bench_check._measure", lambda: next(left)["ratios"])
        return left

    return give


def test_what_is_worse_once_is_measured_again(run, held, measured):
    left = measured(queue_result(ours=1.8), queue_result(), queue_result(ours=1.8))
    assert run("bench", "check", "--baseline", held)[0] == 0
    assert len(list(left)) == 1


def test_a_real_regression_is_there_in_every_try(run, held, measured):
    left = measured(*[queue_result(ours=1.8)] * 4)
    code, out, _ = run("bench", "check", "--baseline", held)
    assert code == 1
    assert "worse" in out
    assert len(list(left)) == 1


@pytest.mark.parametrize("text", ["", "[x]\nratio = 1\n", "ratio = "])
def test_a_file_that_is_no_baseline_is_refused(run, tmp_path, text):
    path, result = tmp_path / "baseline.toml", tmp_path / "result.json"
    path.write_text(text)
    result.write_text(json.dumps(queue_result()))
    code, _, said = run("bench", "check", "--measured", result, "--baseline", path)
    assert code == 2
    assert "baseline.toml" in said


def test_a_result_without_ratios_is_refused(check):
    code, _, said = check({**queue_result(), "ratios": {}})
    assert code == 2
    assert "no ratios" in said
