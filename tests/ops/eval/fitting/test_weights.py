"""Learning weights: planted ones are found and tell a gain; noise tells that fitting did not help."""

from datetime import UTC, datetime

import numpy as np
import pytest

from memsift_ops.evaluation.fitting import fit_weights, weights
from memsift_ops.evaluation.fitting.folds import folds
from memsift_ops.evaluation.fitting.linear import Linear, Table

SETTINGS = ("jev_weight_similarity", "jev_weight_words", "jev_weight_names")
LINEAR = Linear(
    "made-up",
    SETTINGS,
    np.array([1.0, 0.6, 0.2]),
    -np.inf,
    lambda case: case,
    lambda values, by: values @ by,
)


def tables(true, *, count, seed=5, spread=0.3):
    """Questions with 10 candidates; the relevant one has the best score by `true`, up to noise."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        features = random.standard_normal((10, 3))
        best = int((features @ np.array(true) + spread * random.standard_normal(10)).argmax())
        ids = tuple(f"m{at}" for at in range(10))
        found.append(Table(ids, features, ("p",), frozenset([ids[best]])))
    return found


def learn(asked, *, seed=1):
    calls = []
    found = weights.learn(LINEAR, asked, seed=seed, fitted=lambda: calls.append(1))
    assert len(calls) == weights.FITS
    return found


def test_planted_weights_are_found_and_the_gain_is_told():
    true = [0.2, -0.5, 1.0]
    found = learn({"a": tables(true, count=60), "b": tables(true, count=30, seed=6)})
    ours = np.array(list(found.weights.values()))
    assert ours @ true / np.linalg.norm(ours) / np.linalg.norm(true) > 0.97
    assert found.helped
    assert found.overall.difference > 0.2
    assert "Fitting helped" in fit_weights.verdict(found)
    assert set(found.sets) == {"a", "b"}
    # Each set counts the same, whatever its size.
    assert found.overall.fitted == pytest.approx((found.sets["a"].fitted + found.sets["b"].fitted) / 2)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_on_noise_it_says_that_fitting_did_not_help(seed):
    random = np.random.default_rng(seed)
    asked = tables([0, 0, 0], count=60, seed=seed)
    asked = [Table(one.ids, random.standard_normal((10, 3)), one.pruned, one.gold) for one in asked]
    found = learn({"a": asked})
    assert not found.helped
    assert "Keep the defaults" in fit_weights.verdict(found)


def test_where_the_defaults_are_right_they_stay_about_so():
    found = learn({"a": tables(LINEAR.defaults, count=80)})
    ours = np.array(list(found.weights.values()))
    assert ours @ LINEAR.defaults / np.linalg.norm(ours) / np.linalg.norm(LINEAR.defaults) > 0.97
    assert not found.overall.ci95[1] < 0


def test_the_same_seed_gives_the_same_weights():
    asked = {"a": tables([1, 0, 1], count=40)}
    assert learn(asked) == learn(asked)


def test_questions_without_a_relevant_candidate_teach_nothing_and_too_few_are_refused():
    asked = tables([1, 0, 1], count=12)
    lost = [Table(one.ids, one.features, (), frozenset(["elsewhere"])) for one in asked[:3]]
    assert learn({"a": asked + lost}).left_out == 3
    with pytest.raises(ValueError, match="9 questions have a relevant candidate, 10 are needed"):
        learn({"a": asked[:9] + lost})


def test_every_question_is_left_out_once_and_folds_are_balanced():
    groups = ["a"] * 11 + ["b"] * 4
    found = list(folds(groups, 3, seed=1))
    assert sorted(at for _, left_out in found for at in left_out) == list(range(15))
    for fit_on, left_out in found:
        assert not set(fit_on) & set(left_out)
        assert sum(groups[at] == "b" for at in left_out) in (1, 2)


def test_the_settings_file_tells_when_how_and_what(tmp_path):
    learnt = learn({"a": tables([1, 0, 1], count=40)})
    out = tmp_path / "jev.env"
    command = ["eval", "--data", "my folder", "--set", "a", "--fit", "jev"]
    now = datetime(2026, 3, 4, 5, 6, tzinfo=UTC)
    fit_weights._write(out, learnt, {"a": "d" * 64}, command=command, now=now)
    lines = out.read_text().splitlines()
    assert lines[0].endswith("on 2026-03-04 05:06 UTC:")
    assert lines[1] == "# memsift eval --data 'my folder' --set a --fit jev"
    assert lines[-1] == f"MEMSIFT_FITTED_ON={'d' * 64}"
    told = dict(line.split("=") for line in lines if not line.startswith("#"))
    for name, weight in learnt.weights.items():
        assert float(told[f"MEMSIFT_{name.upper()}"]) == pytest.approx(weight, abs=1e-3)
