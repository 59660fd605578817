"""The simulator against the real engine, and that the comparison can fail."""

import asyncio
import json
import math
from dataclasses import replace

import numpy as np
import pytest

from memsift_ops import group, weights
from memsift_ops.planning.roofline import Roofline
from memsift_ops.planning.validation import command
from memsift_ops.planning.validation.judging import holds, judge
from memsift_ops.planning.validation.predicting import Predicted, calibrate, predict
from memsift_ops.planning.validation.replaying import Measured, replay
from memsift_ops.planning.validation.workloads import BLOCK, BLOCK_BYTES, CALIBRATION, UNSEEN, WORDS, Workload
from memsift_workers.models.store import pull_default_model
from memsift_workers.runtimes.paged_model import PagedModel
from tests.engine_fixtures import embedded_runtime

__all__ = ["embedded_runtime"]

TRUE = Roofline(4e-4, 5e-7, 1e-4, 0.0, 0.0, 0.04, per_prompt=2e-3)
SHORT = Workload("short", calls=36, cache_mb=16, seed=11)
APART = Workload("each alone", layout="likelihood", calls=30, cache_mb=20, seed=13)


def as_if_measured(workload, roofline, noise=0.0):
    """What an engine with these constants, and a cache that never forgets, would have taken."""
    arrivals = workload.arrivals()
    table = workload.turn_table(int(arrivals.turns.max()) + 1)
    rng = np.random.default_rng(5)
    seen, hits, seconds = {}, [], []
    for session, turn in zip(arrivals.sessions.tolist(), arrivals.turns.tolist(), strict=True):
        hit = int(table.shared[turn]) if session in seen else 0
        seen[session] = True
        hits.append(hit + int(table.asked[turn] - table.computed[turn]))
        seconds.append(roofline.seconds(table.work(turn, hit)) * (1 + noise * rng.standard_normal()))
    return Measured(table.asked[arrivals.turns], np.array(hits), np.array(seconds))


def test_the_calibration_finds_the_constants_that_made_the_times():
    fitted = calibrate([(one, as_if_measured(one, TRUE, noise=0.02)) for one in CALIBRATION])
    assert fitted.per_token == pytest.approx(TRUE.per_token, rel=0.15)
    assert fitted.overhead == pytest.approx(TRUE.overhead, rel=0.3)
    for one in UNSEEN:
        assert predict(one, fitted).cpu_s == pytest.approx(predict(one, TRUE).cpu_s, rel=0.1)


def test_constants_that_would_be_negative_are_left_out():
    fitted = calibrate([(CALIBRATION[0], as_if_measured(CALIBRATION[0], replace(TRUE, overhead=-0.01)))])
    assert min(fitted.overhead, fitted.per_token, fitted.per_pair, fitted.per_prompt) == 0


@pytest.mark.parametrize(
    ("hit", "seconds", "close"),
    [
        (0.44, 10.0, True),
        (0.46, 10.0, False),
        (0.34, 10.0, False),
        (0.4, 12.4, True),
        (0.4, 12.6, False),
        (0.4, 7.6, True),
        (0.4, 7.4, False),
    ],
)
def test_five_points_and_a_quarter_are_the_limits(hit, seconds, close):
    measured = Measured(np.full(10, 100), np.full(10, 40), np.full(10, 1.0))
    verdict = judge(SHORT, Predicted(hit, seconds), measured, (1.0, 1.0), unseen=True)
    assert holds([verdict]) is close
    assert holds([judge(SHORT, Predicted(hit, seconds), measured, (1.0, 1.0), unseen=False)])


def test_what_is_predicted_was_not_calibrated_on():
    assert not {replace(one, name="") for one in CALIBRATION} & {replace(one, name="") for one in UNSEEN}
    assert {one.seed for one in CALIBRATION}.isdisjoint(one.seed for one in UNSEEN)


@pytest.mark.parametrize(("forgets", "code"), [(False, 0), (True, 1)])
def test_the_command_fails_when_the_prediction_is_wrong(monkeypatch, capsys, forgets, code):
    # Given an engine whose cache never forgets
    monkeypatch.setattr(weights, "pull", lambda: None)
    monkeypatch.setattr(command, "_replay", lambda model, one, advance: as_if_measured(one, TRUE, noise=0.01))
    # When the simulator knows that, or believes in the small cache
    if not forgets:
        monkeypatch.setattr(Workload, "room", 10**9)
    # Then the exit code tells
    assert group.run(["plan", "--validate", "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["holds"] is (code == 0)
    assert [one["unseen"] for one in told["workloads"]] == [False] * len(CALIBRATION) + [True] * len(UNSEEN)
    assert group.run(["plan", "--validate"]) == code
    assert ("OFF" in capsys.readouterr().out) is forgets


@pytest.mark.engine
def test_the_engine_has_as_many_blocks_as_the_simulator_is_told(embedded_runtime):
    from memsift_workers.models.openvino_ir import openvino_folder

    model = PagedModel(openvino_folder(pull_default_model()), cache_mb=16)
    assert model.block_size == BLOCK
    assert model.blocks == (16 << 20) // BLOCK_BYTES


@pytest.mark.engine
@pytest.mark.parametrize("workload", [SHORT, APART])
def test_the_predicted_hit_ratio_is_within_five_points_of_the_engines(embedded_runtime, workload):
    # Given sessions whose decks do not all fit into the cache
    measured = asyncio.run(replay(pull_default_model(), workload, repeats=1, advance=lambda: None))
    # Then prompts are as long as the simulator believes, words being one token each
    arrivals = workload.arrivals()
    table = workload.turn_table(int(arrivals.turns.max()) + 1)
    assert measured.asked.tolist() == table.asked[arrivals.turns].tolist()
    # And it predicts how much of them came from the cache
    assert abs(predict(workload, TRUE).hit_ratio - measured.hit_ratio) <= 0.05
    # But not when it is told of a cache three times the size, or a quarter of it
    for wrong in (3, 0.25):
        mistaken = replace(workload, cache_mb=math.ceil(workload.cache_mb * wrong))
        assert abs(predict(mistaken, TRUE).hit_ratio - measured.hit_ratio) > 0.05


def test_words_are_different():
    assert len(set(WORDS)) == len(WORDS)
