"""Two reports side by side."""

import json

import pytest

from memsift_ops import group
from memsift_ops.evaluation.quality import METRICS


def numbers(mean, half=0.03):
    means = dict.fromkeys(METRICS, mean)
    return {"n": 9, **means, "ci95": {key: [mean - half, mean + half] for key in METRICS}}


NOTHING = {"n": 0, **dict.fromkeys(METRICS), "ci95": dict.fromkeys(METRICS)}


@pytest.fixture
def compare(tmp_path, capsys):
    def compare(before, after, *options):
        paths = []
        for name, sets in (("a", before), ("b", after)):
            paths.append(tmp_path / f"{name}.json")
            paths[-1].write_text(sets if isinstance(sets, str) else json.dumps({"sets": sets}))
        code = group.run(["compare", *map(str, paths), *options])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return compare


@pytest.mark.parametrize(("after", "is_noise"), [(0.541, True), (0.543, False), (0.457, False), (0.46, True)])
def test_a_difference_counts_beyond_what_both_intervals_allow(compare, after, is_noise):
    # Half widths of .03 each: sqrt(.03² + .03²) = .0424
    code, out, _ = compare({"s": {"jev": numbers(0.5)}}, {"s": {"jev": numbers(after)}}, "--json")
    told = json.loads(out)
    assert code == 0
    assert [one["metric"] for one in told["differences"]] == list(METRICS)
    for one in told["differences"]:
        assert one["difference"] == pytest.approx(after - 0.5)
        assert one["noise"] == pytest.approx(0.0424, abs=1e-4)
        assert one["is_noise"] is is_noise


def test_what_only_one_report_has_is_named_and_a_silent_ranker_left_out(compare):
    before = {"s": {"jev": numbers(0.5), "local": NOTHING}, "t": {"jev": numbers(0.5)}}
    after = {"s": {"jev": numbers(0.5), "local": numbers(0.6)}}
    _, out, _ = compare(before, after, "--json")
    told = json.loads(out)
    assert told["only_in_one"] == ["t/jev"]
    assert {(one["set"], one["ranker"]) for one in told["differences"]} == {("s", "jev")}


def test_for_people(compare):
    code, out, _ = compare({"s": {"jev": numbers(0.5)}}, {"s": {"jev": numbers(0.7), "nox": numbers(0.1)}})
    assert code == 0
    assert "better" in out
    assert "+0.200" in out
    assert "only in one of the two: s/nox" in out


@pytest.mark.parametrize("content", ["no json", "{}", '{"sets": {"s": {"jev": {"n": 1}}}}'])
def test_a_file_of_something_else_is_refused(compare, content):
    code, out, err = compare(content, content)
    assert (code, out) == (2, "")
    assert "is no report of `memsift eval --json`" in err
