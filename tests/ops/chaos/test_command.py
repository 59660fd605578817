"""`memsift chaos` as a person runs it."""

import json
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.stack

KEYS = [
    *("calls", "unanswered", "invalid", "foreign_replies", "leaks", "p999_over_deadline_ms"),
    *("dead_model_time_share", "fallbacks"),
]


def chaos(*arguments, scenario="blackhole"):
    command = (sys.executable, "-m", "memsift_ops", "chaos", "--quick", "--scenario", scenario, *arguments)
    # Settings of the shell must not reach the run.
    environment = {**os.environ, "MEMSIFT_QUEUE": "nobody's", "MEMSIFT_REDIS_URL": "redis://127.0.0.1:1/0"}
    return subprocess.run(command, capture_output=True, text=True, timeout=110, check=False, env=environment)


def test_a_broken_promise_is_named_and_ends_with_1(tmp_path):
    # When a scenario is played whose callers were told to be late
    out = tmp_path / "build" / "chaos.json"
    ended = chaos("--seed", "5", "--out", str(out), "--inject", "late")
    # Then it says so, and the numbers are written all the same
    assert ended.returncode == 1, ended.stderr
    assert "BROKEN blackhole: return after the deadline at p99.9, ms" in ended.stdout
    assert "seed 5" in ended.stdout
    numbers = json.loads(out.read_text())
    assert list(numbers)[: len(KEYS)] == KEYS
    assert (numbers["unanswered"], numbers["invalid"], numbers["leaks"]) == (0, 0, 0)
    assert numbers["p999_over_deadline_ms"] > 1_000
    assert numbers["seed"] == 5


def test_a_leak_is_found_wherever_text_can_leak_to(tmp_path):
    # Given a caller that logs what it must not, tells it to Sentry, and an event that shows it
    out = tmp_path / "chaos.json"
    ended = chaos("--out", str(out), "--inject", "leak", scenario="poison")
    # Then it is found in the log, in what Sentry was sent, among the events, and on Flower's pages
    assert ended.returncode == 1, ended.stderr
    assert out.exists(), ended.stderr
    found = json.loads(out.read_text())["leaks_by_file"]
    assert {"poison0.log", "sentry.sent", "events.seen", "flower.seen"} <= set(found)


def test_wrong_options_are_refused():
    assert chaos("--inject", "nonsense").returncode == 2
    assert chaos("--scenario", "nonsense").returncode == 2
