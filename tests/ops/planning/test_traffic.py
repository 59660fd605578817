"""When calls come, and in which turn their sessions are."""

import numpy as np
import pytest

from memsift_ops.planning import dispatch
from memsift_ops.planning.traffic import Traffic, draw

LOAD = Traffic(calls_per_s=50.0, turns=8.0, think_s=20.0, users=500)


@pytest.fixture(scope="module")
def calls():
    return draw(LOAD, 2_000.0, np.random.default_rng(7))


def test_the_rate_is_the_same_from_the_beginning_to_the_end(calls):
    counts, _ = np.histogram(calls.times, bins=10, range=(0, 2_000))
    assert counts == pytest.approx(np.full(10, 10_000), rel=0.06)


def test_calls_are_in_order_and_the_turns_of_a_session_too(calls):
    assert (np.diff(calls.times) >= 0).all()
    order = np.lexsort((calls.times, calls.sessions))
    session, turn = calls.sessions[order], calls.turns[order]
    same = session[1:] == session[:-1]
    assert (turn[1:][same] == turn[:-1][same] + 1).all()


def test_a_tenth_begins_a_session_when_sessions_have_ten_calls(calls):
    assert (calls.turns == 0).mean() == pytest.approx(1 / LOAD.turns, rel=0.05)
    # The geometric distribution's mean number of turns before a call is turns - 1.
    assert calls.turns.mean() == pytest.approx(LOAD.turns - 1, rel=0.05)


def test_a_session_is_one_users(calls):
    pairs = set(zip(calls.sessions.tolist(), calls.users.tolist(), strict=True))
    assert len(pairs) == len(set(calls.sessions.tolist()))
    assert calls.users.max() < LOAD.users


def test_the_gaps_within_sessions_are_the_think_time(calls):
    order = np.lexsort((calls.times, calls.sessions))
    same = calls.sessions[order][1:] == calls.sessions[order][:-1]
    assert np.diff(calls.times[order])[same].mean() == pytest.approx(LOAD.think_s, rel=0.05)


@pytest.mark.parametrize("cards", [1, 2, 7, 100])
def test_keys_spread_evenly_and_always_prefer_the_same_cards(cards):
    keys = np.arange(50_000)
    favourite, step = dispatch.preferences(keys, cards)
    again, _ = dispatch.preferences(keys, cards)
    assert (favourite == again).all()
    counts = np.bincount(favourite, minlength=cards)
    assert counts == pytest.approx(np.full(cards, 50_000 / cards), rel=0.2)
    assert ((favourite + step) % cards != favourite).all() or cards == 1
