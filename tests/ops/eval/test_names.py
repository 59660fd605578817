"""Names of rankers with and without a strategy."""

import pytest

from memsift_ops.evaluation import names


def test_local_is_measured_once_for_each_strategy_and_others_once():
    found = names.with_strategies(["prefilter", "jev>local", "local"], ["likelihood", "listwise"])
    assert found == [
        "prefilter",
        "jev>local[likelihood]",
        "jev>local[listwise]",
        "local[likelihood]",
        "local[listwise]",
    ]


@pytest.mark.parametrize(
    ("ranker", "asked", "parts", "strategy"),
    [
        ("jev", "jev", ["jev"], None),
        ("local[listwise]", "local", ["local"], "listwise"),
        ("jev>local[pointwise]", "jev>local", ["jev", "local"], "pointwise"),
        ("local[scorecard]>nox", "local>nox", ["local", "nox"], "scorecard"),
    ],
)
def test_what_a_name_tells(ranker, asked, parts, strategy):
    assert (names.asked(ranker), names.parts(ranker), names.strategy(ranker)) == (asked, parts, strategy)


def test_a_worker_for_each_strategy_and_the_rest_last():
    found = names.by_strategy(["jev", "local[listwise]", "jev>local[listwise]", "local[pointwise]"])
    assert list(found.items()) == [
        ("listwise", ["local[listwise]", "jev>local[listwise]"]),
        ("pointwise", ["local[pointwise]"]),
        (None, ["jev"]),
    ]


def test_the_strategies_are_those_of_the_setting():
    assert names.STRATEGIES == ("likelihood", "pointwise", "listwise", "scorecard")
