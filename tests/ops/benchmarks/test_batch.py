"""`memsift bench batch`: what it advises, and that it runs on the real engine."""

import json

import pytest

from memsift_ops.batch_bench import advice
from memsift_ops.batch_bench.questions import Users
from memsift_ops.batch_bench.sizes import Timed
from memsift_ops.batch_bench.windows import Waited


def timed(**ms):
    return [
        Timed(int(size[1:]), value + step, cpu_ms=value) for size, value in ms.items() for step in (-1, 0, 1)
    ]


def test_gain_and_wait_are_beside_one_by_one():
    found = advice.by_size(timed(_1=50.0, _4=60.0, _24=120.0))
    assert found["1"]["gain"] == found["1"]["wait"] == 1.0
    assert found["4"]["jobs_per_s"] == pytest.approx(4 / 0.060, rel=1e-3)
    assert found["24"]["gain"] == 10.0
    assert found["24"]["wait"] == 2.4
    assert found["24"]["cpu_ms_per_job"] == 5.0


def test_a_batch_that_gets_no_more_done_is_not_advised():
    assert advice.batch_max(advice.by_size(timed(_1=10.0, _4=20.0, _8=40.0)), deadline_ms=400) == 4


def test_a_batch_that_takes_over_half_of_the_deadline_is_not_advised():
    sizes = advice.by_size(timed(_1=50.0, _4=100.0, _8=150.0, _16=250.0))
    assert advice.batch_max(sizes, deadline_ms=400) == 8
    assert advice.batch_max(sizes, deadline_ms=50) == 1


def test_the_shortest_window_that_is_hardly_worse_is_advised():
    def waited(wait_ms, ms):
        return Waited(wait_ms, 10.0, [ms] * 100, 100)

    assert advice.wait_ms([waited(0.0, 102.0), waited(8.0, 100.0), waited(20.0, 130.0)]) == 0.0
    assert advice.wait_ms([waited(0.0, 150.0), waited(8.0, 100.0), waited(20.0, 130.0)]) == 8.0


def test_no_question_is_asked_twice_and_each_user_has_memories_of_their_own():
    users = Users(keep=5)
    first, again, other = users.ask(0), users.ask(0), users.ask(1)
    assert first.query != again.query
    assert first.candidates == again.candidates
    assert first.user == again.user != other.user
    assert len(first.candidates) == 5


@pytest.mark.engine
def test_on_the_real_engine(run, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMSIFT_STRATEGY", "listwise")
    out = tmp_path / "batch.json"
    asked = ("--rounds", "1", "--keep", "3", "--seconds", "0", "--out", out, "--json")
    code, printed, _ = run("bench", "batch", *asked)
    assert code == 0
    told = json.loads(printed)
    assert list(told["sizes"]) == ["1", "4", "8", "16", "24"]
    assert told["recommended"]["MEMSIFT_BATCH_MAX"] in {1, 4, 8, 16, 24}
    assert run("bench", "report", out, "--docs", tmp_path)[0] == 0
    assert "MEMSIFT_BATCH_MAX=" in (tmp_path / "benchmarks.md").read_text()
