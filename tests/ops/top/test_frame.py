"""Looks become rates; cards of any release can be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from memsift_ops.status import BreakerStatus, QueueStatus, Status
from memsift_ops.top.frame import Looks
from memsift_ops.top.screen import BARS, Screen, spark

BREAKER = BreakerStatus("closed", None, None, 0, 0, None)


def status(troubles=(), own=None, **cards):
    return Status(BREAKER, QueueStatus("q", 3, 0.25, own or {}), cards, tuple(troubles))


def text(frame, width=80):
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(Screen().draw(frame))
    return console.export_text()


def test_what_became_of_jobs_between_two_looks_is_a_rate():
    looks = Looks()
    assert looks.frame(status(a={"causes": {"ranked": 100}}), at=10.0).changes is None
    # Given 2 s in which one worker ranked and refused, and another came
    second = looks.frame(
        status(a={"causes": {"ranked": 140, "expired": 2}}, b={"causes": {"ranked": 5}}), at=12.0
    )
    assert second.changes == {"ranked": 20.0, "expired": 1.0}
    # Given a restart: the worker counts anew
    third = looks.frame(status(a={"causes": {"ranked": 6}}, b={"causes": {"ranked": 5}}), at=13.0)
    assert third.changes == {"ranked": 6.0}


def test_the_share_that_fell_back_leaves_out_whom_nobody_waited_for():
    causes = {"ranked": 6, "expired": 2, "cancelled": 9, "warm_warmed": 40}
    (row,) = Looks().frame(status(a={"causes": causes})).rows
    assert row.lost == pytest.approx(0.25)


def test_percentiles_are_those_of_the_slowest_worker():
    slow, fast = ({"latency_ms": {"p50": p50, "p99": p99}} for p50, p99 in ((10, 900), (20, 100)))
    assert Looks().frame(status(a=fast, b=slow, c={})).slowest.name == "b"


VALUES = st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3), st.just({}), st.just([]))
NAMES = (
    "ranker",
    "paused",
    "rate",
    "jobs_per_s",
    "ranking",
    "limit",
    "fill",
    "latency_ms",
    "cache",
    "causes",
)


@given(st.dictionaries(st.sampled_from(NAMES), VALUES))
def test_no_card_is_too_strange_or_too_old_to_be_shown(card):
    shown = text(Looks().frame(status(**{"worker-with-quite-a-long-name@host": card})))
    assert max(map(len, shown.splitlines())) <= 80


def test_trouble_and_a_pause_are_shown():
    shown = text(Looks().frame(status(["no worker is present"], {"r": 1, "s": 1}, a={"paused": True})))
    for words in ("no worker is present", "3 jobs wait, 2 of them for one runtime", "paused"):
        assert words in shown


def test_bars_go_from_nothing_to_the_highest():
    assert spark([]) == ""
    assert spark([0, 0]) == BARS[0] * 2
    assert spark([0, 5, 10]) == BARS[0] + BARS[4] + BARS[7]
