"""The pictures: every mark is where its number is, and nothing overlaps or leaves the picture."""

import itertools
import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_ops.evaluation import plots
from memsift_ops.evaluation.plots import canvas
from memsift_ops.evaluation.plots.time_axis import BUDGET_MS, TimeAxis

NAMES = ["prefilter", "jev", "jev>decision>local", "clef", "nox", "一个名字很长的中文集合"]


def measured(at, *, p50=10.0):
    mrr = 0.4 + at / 10
    return {
        "n": 20,
        "mrr": mrr,
        "ci95": {"mrr": [mrr - 0.1, min(mrr + 0.1, 1.0)]},
        "latency_ms": {"p50": p50, "p95": 2 * p50, "p99": 3 * p50},
        "against_prefilter": {"mrr": {"difference": at / 50, "ci95": [at / 50 - 0.03, at / 50 + 0.03]}},
        "by_category": {
            name: {"n": 10, "mrr": mrr, "ci95": {"mrr": [mrr - 0.1, min(mrr + 0.1, 1.0)]}} for name in "ab"
        },
        "abstention": {"auroc": mrr, "ci95": [mrr - 0.1, mrr], "n_answerable": 9, "n_unanswerable": 9},
        "calibration": {
            "ece": 0.1,
            "brier": 0.1,
            "n": 10,
            "bins": [
                {"n": 8, "stated": 0.05, "relevant": 0.1},
                {"n": 2, "stated": 0.9, "relevant": mrr},
            ],
        },
    }


RANKERS = {name: measured(at, p50=10.0 ** (at - 0.5)) for at, name in enumerate(NAMES)}
TIMES = {
    name: [one["latency_ms"]["p50"] * factor for factor in (0.7, 1, 1, 1.2, 2, 3)]
    for name, one in RANKERS.items()
}
DRAWN = {
    "tradeoff": plots.tradeoff("s", RANKERS),
    "gains": plots.gains("s", RANKERS),
    "latency": plots.latency("s", RANKERS, TIMES),
    "groups": plots.groups("s", RANKERS, "by_category"),
    "abstention": plots.abstention("s", RANKERS),
    "reliability": plots.reliability("s", RANKERS),
}


def elements(picture, name, class_=None):
    return [
        one for one in ET.fromstring(picture).iter(name) if class_ is None or class_ in one.get("class", "")
    ]


def numbers(element, *names):
    return [float(element.get(name)) for name in names]


@pytest.mark.parametrize("name", DRAWN)
def test_nothing_leaves_the_picture(name):
    _, _, width, height = map(float, ET.fromstring(DRAWN[name]).get("viewBox").split())
    assert width == canvas.WIDTH
    for one in ET.fromstring(DRAWN[name]).iter():
        for key, value in one.items():
            if key in {"x", "x1", "x2", "cx"}:
                assert 0 <= float(value) <= width, (one.tag, one.items())
            if key in {"y", "y1", "y2", "cy"}:
                assert 0 <= float(value) <= height, (one.tag, one.items())
    for path in elements(DRAWN[name], "path"):
        points = [float(one) for one in re.findall(r"-?[\d.]+", path.get("d"))]
        assert all(-6 <= x <= width + 6 for x in points[::2])
        assert all(-1 <= y <= height for y in points[1::2])
    for one in elements(DRAWN[name], "text", "name"):
        (x,) = numbers(one, "x")
        room = x if one.get("text-anchor") == "end" else width - x
        assert canvas.text_width(one.text) <= room, one.text


@pytest.mark.parametrize("name", DRAWN)
def test_every_mark_has_a_name_beside_it(name):
    shown = {one.text for one in elements(DRAWN[name], "text", "name")}
    assert {"jev", "clef", "nox"} <= shown
    assert all(len(one) > 2 for one in shown if one.endswith(canvas.ELLIPSIS))
    told = ET.fromstring(DRAWN[name]).find("desc").text
    assert all(ranker in told for ranker in NAMES if (name, ranker) != ("gains", "prefilter"))


def test_each_ranker_has_its_point_with_both_lines():
    dots = elements(DRAWN["tradeoff"], "circle")
    assert [dot.get("class") for dot in dots] == [f"dot c{at}" for at in range(len(NAMES))]
    xs, ys = zip(*(numbers(dot, "cx", "cy") for dot in dots), strict=True)
    # Each one is ten times slower and better by the same step.
    assert sorted(xs) == list(xs)
    assert sorted(ys, reverse=True) == list(ys)
    steps = [b - a for a, b in itertools.pairwise(xs)][1:]
    assert max(steps) - min(steps) < 0.05
    assert len(elements(DRAWN["tradeoff"], "line", "whisker")) == 2 * len(NAMES)


@pytest.mark.parametrize("name", ["tradeoff", "latency"])
def test_the_budget_is_drawn_where_it_is(name):
    (band,) = elements(DRAWN[name], "rect", "budget")
    start, width = numbers(band, "x", "width")
    ticks = {one.text: numbers(one, "x")[0] for one in elements(DRAWN[name], "text", "tick")}
    assert ticks["100"] < start < start + width < ticks["1 s"]
    decade = ticks["1 s"] - ticks["100"]
    assert start - ticks["100"] == pytest.approx(decade * 0.477, abs=0.05)
    assert width == pytest.approx(decade * 0.2218, abs=0.05)


def test_each_distribution_has_its_shape_and_three_percentiles():
    picture = DRAWN["latency"]
    shapes, dots = elements(picture, "path", "density"), elements(picture, "circle", "dot")
    upright, diamonds = elements(picture, "line", "whisker"), elements(picture, "path", "dot")
    assert len(shapes) == len(dots) == len(upright) == len(diamonds) == len(NAMES)
    for shape, dot, line, diamond in zip(shapes, dots, upright, diamonds, strict=True):
        p50, p95 = numbers(dot, "cx")[0], numbers(line, "x1")[0]
        p99 = float(re.findall(r"[\d.]+", diamond.get("d"))[0])
        assert p50 < p95 < p99 + 0.1
        xs = [float(one) for one in re.findall(r"[\d.]+", shape.get("d"))[::2]]
        assert min(xs) < p50 < max(xs)
    # The rows tell the numbers too.
    assert "p50 3.2 · p95 6.3 · p99 9.5 ms" in [one.text for one in elements(picture, "text", "value")]


def test_the_shape_is_widest_where_most_calls_are():
    times = {"prefilter": [10.0] * 95 + [1000.0] * 5}
    (shape,) = elements(plots.latency("s", {"prefilter": measured(0)}, times), "path", "density")
    points = [tuple(map(float, one.split())) for one in re.split("[MLZ]", shape.get("d")) if one]
    upper = points[: len(points) // 2]
    x, _ = min(upper, key=lambda point: point[1])
    span = max(upper)[0] - min(upper)[0]
    assert x - min(upper)[0] < 0.1 * span


@pytest.mark.parametrize("times", [[5.0], [5.0, 5.0, 5.0], [1e-9, 1e6]])
def test_a_distribution_of_few_or_equal_calls_is_drawn(times):
    picture = plots.latency("s", {"prefilter": measured(0)}, {"prefilter": times})
    assert "nan" not in picture
    assert elements(picture, "path", "density")


def test_gains_are_on_their_side_of_zero_with_a_mark_beyond_noise():
    (zero,) = elements(DRAWN["gains"], "line", "zero")
    (middle,) = numbers(zero, "x1")
    dots = [numbers(one, "cx")[0] for one in elements(DRAWN["gains"], "circle")]
    assert dots[0] == middle < dots[1] < dots[-1]
    told = [one.text for one in elements(DRAWN["gains"], "text", "value")]
    assert told == ["+0.000", "+0.020", "+0.040 ▲", "+0.060 ▲", "+0.080 ▲", "+0.100 ▲"]


@pytest.mark.parametrize(("name", "count"), [("groups", 2 * len(NAMES)), ("abstention", len(NAMES))])
def test_bars_are_as_long_as_their_numbers_and_have_intervals(name, count):
    bars, tracks = elements(DRAWN[name], "rect", "bar"), elements(DRAWN[name], "rect", "track")
    values = [float(one.text) for one in elements(DRAWN[name], "text", "value")]
    assert len(bars) == len(tracks) == len(values) == count
    for bar, track, value in zip(bars, tracks, values, strict=True):
        assert float(bar.get("width")) / float(track.get("width")) == pytest.approx(value, abs=1e-3)
    assert len(elements(DRAWN[name], "line", "interval")) == 3 * count


def test_the_line_of_chance_is_in_the_middle_of_the_bars():
    (chance,) = elements(DRAWN["abstention"], "line", "zero")
    start, width = numbers(elements(DRAWN["abstention"], "rect", "track")[0], "x", "width")
    assert numbers(chance, "x1")[0] == pytest.approx(start + width / 2, abs=0.01)


def test_bins_are_dots_whose_area_is_what_they_hold():
    dots = elements(DRAWN["reliability"], "circle")
    assert len(dots) == 2 * len(NAMES)
    (many, x, y), (few, later, higher) = (numbers(one, "r", "cx", "cy") for one in dots[-2:])
    assert many**2 / few**2 == pytest.approx(4, abs=0.01)
    assert later > x
    assert higher < y


def test_no_picture_where_there_is_nothing_to_show():
    silent = {
        "n": 0,
        "mrr": None,
        "against_prefilter": None,
        "by_category": {"facts": {}},
        "abstention": {"auroc": None},
        "calibration": None,
    }
    rankers = {"prefilter": silent}
    assert plots.tradeoff("s", rankers) is None
    assert plots.gains("s", rankers) is None
    assert plots.groups("s", rankers, "by_category") is None
    assert plots.latency("s", rankers, {"prefilter": []}) is None
    assert plots.abstention("s", rankers) is None
    assert plots.reliability("s", rankers) is None


@given(st.lists(st.floats(0, 180), min_size=1, max_size=12))
def test_labels_are_kept_apart_in_their_order(wanted):
    placed = canvas.apart(wanted, 190.0)
    order = sorted(placed)
    assert all(b - a >= canvas.LABEL_GAP - 1e-9 for a, b in itertools.pairwise(order))
    assert order[-1] <= 190.0
    assert [placed[at] for at in sorted(range(len(wanted)), key=lambda at: wanted[at])] == order


@given(st.text(max_size=60), st.floats(20, 200))
def test_a_name_is_cut_only_where_it_does_not_fit(name, width):
    shown = canvas.shortened(name, width)
    assert canvas.text_width(shown) <= width
    assert shown == name or (name.startswith(shown.removesuffix(canvas.ELLIPSIS)) and len(shown) <= len(name))


@given(st.lists(st.floats(1e-6, 1e7), min_size=1, max_size=5))
def test_the_time_axis_holds_every_time_and_the_budget(times):
    x = TimeAxis(times, 10, 300, 0, 100)
    assert all(10 <= x(ms) <= 300 + 1e-6 for ms in (*times, *BUDGET_MS))
    assert [x(ms) for ms in sorted(times)] == sorted(x(ms) for ms in times)
