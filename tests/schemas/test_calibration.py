"""A curve is a probability that never falls as evidence grows; a file that is none is refused."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from memsift_schemas import SettingsError
from memsift_schemas.calibration import Calibration, Curve, load

MOST = 1e9
numbers = st.floats(allow_nan=False, allow_infinity=False)
probabilities = st.floats(0, 1)


@st.composite
def isotonic_curves(draw):
    evidence = sorted(draw(st.lists(st.floats(-MOST, MOST), min_size=1, max_size=25, unique=True)))
    levels = draw(st.lists(probabilities, min_size=len(evidence), max_size=len(evidence)))
    knots = tuple(zip(evidence, sorted(levels), strict=True))
    return Curve(method="isotonic", knots=knots, n=9, positives=3)


platt_curves = st.builds(
    Curve,
    method=st.just("platt"),
    slope=st.floats(0, 1e300),
    intercept=st.floats(-1e300, 1e300),
    n=st.just(9),
    positives=st.just(3),
)


@given(isotonic_curves() | platt_curves, st.lists(numbers, min_size=2, max_size=8))
def test_it_is_a_probability_and_never_falls(curve, evidence):
    found = [curve.probability(one) for one in sorted(evidence)]
    assert all(0 <= one <= 1 for one in found)
    assert found == sorted(found)


def test_between_knots_it_is_a_line_and_outside_flat():
    curve = Curve(method="isotonic", knots=((-1.0, 0.1), (1.0, 0.5), (2.0, 0.9)), n=30, positives=9)
    assert [curve.probability(one) for one in (-9, -1, 0, 1, 1.5, 2, 9)] == pytest.approx(
        [0.1, 0.1, 0.3, 0.5, 0.7, 0.9, 0.9]
    )
    assert Curve(method="isotonic", knots=((0.0, 0.4),), n=5, positives=2).probability(77) == 0.4


def test_platts_curve_is_the_logistic_function():
    curve = Curve(method="platt", slope=2.0, intercept=-1.0, n=30, positives=9)
    assert curve.probability(0.5) == 0.5
    assert curve.probability(1.5) == pytest.approx(1 / (1 + math.exp(-2)))


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "isotonic"},
        {"method": "isotonic", "knots": [(1, 0.2), (1, 0.3)]},
        {"method": "isotonic", "knots": [(1, 0.3), (2, 0.2)]},
        {"method": "isotonic", "knots": [(1, 1.2)]},
        {"method": "isotonic", "knots": [(math.nan, 0.2)]},
        {"method": "platt", "slope": -0.1},
        {"method": "platt", "intercept": math.inf},
        {"method": "platt", "positives": 11},
        {"method": "guess"},
    ],
)
def test_a_curve_that_falls_or_is_no_probability_is_refused(wrong):
    with pytest.raises(ValidationError):
        Curve(**{"n": 10, "positives": 3, **wrong})


def test_what_is_written_can_be_read(tmp_path):
    curve = Curve(method="isotonic", knots=((0.1, 0.25),), n=4, positives=1, model="m")
    whole = Calibration(fitted_on=("abc",), curves={"jev>local": curve})
    path = tmp_path / "calibration.json"
    path.write_text(whole.model_dump_json())
    assert load(str(path)) == whole


def test_none_is_asked_for_and_none_is_there():
    assert load("").curve("jev") is None


def test_a_curve_of_another_model_does_not_count():
    curve = Curve(method="platt", slope=1.0, n=4, positives=1, model="small")
    found = Calibration(curves={"local": curve, "jev": curve.model_copy(update={"model": ""})})
    assert found.curve("local", "small") is curve
    assert found.curve("local", "large") is None
    assert found.curve("local") is None
    assert found.curve("jev", "jev") is not None
    assert found.curve("clef") is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"memsift_calibration": 2, "curves": {}}',
        b'{"memsift_calibration": 1, "curves": {"jev": {"method": "platt", "n": 0, "positives": 0}}}',
        b'{"memsift_calibration": 1, "curves": {"jev": {"method": "secret-words", "n": 1, "positives": 0}}}',
    ],
)
def test_a_file_that_is_no_calibration_names_the_setting_and_the_remedy(tmp_path, content):
    path = tmp_path / "calibration.json"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=r"^MEMSIFT_CALIBRATION: .*memsift eval --fit") as caught:
        load(str(path))
    assert "secret-words" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("path", ["missing.json", ".", "a\0b"])
def test_a_file_that_cannot_be_read_names_the_setting(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"^MEMSIFT_CALIBRATION: .*memsift eval --fit"):
        load(path)
