"""Queues whose answer is known: if the simulator is right, it finds it."""

import numpy as np
import pytest

from memsift_ops.planning import layouts
from memsift_ops.planning.card_queue import Batching
from memsift_ops.planning.layouts import Prompt
from memsift_ops.planning.roofline import Roofline
from memsift_ops.planning.simulate import replay, simulate
from memsift_ops.planning.traffic import Calls, Traffic
from tests.ops.planning.made_up import FOR_EVER, constant, setup


def poisson(rate):
    return Traffic(calls_per_s=rate, turns=1.0, think_s=1.0, users=100)


@pytest.mark.parametrize("affinity", ["random", "session"])
@pytest.mark.parametrize("busy", [0.3, 0.6, 0.8])
def test_one_card_waits_like_m_d_1(affinity, busy):
    # Pollaczek and Khinchine: a mean wait of busy x service / (2 (1 - busy))
    service = 0.01
    found = simulate(setup(traffic=poisson(busy / service), affinity=affinity, jobs=200_000), 1)
    waited = found.waits_s.mean() - service
    assert waited == pytest.approx(busy * service / (2 * (1 - busy)), rel=0.06)


@pytest.mark.parametrize("affinity", ["random", "session"])
@pytest.mark.parametrize("cards", [1, 3, 10])
def test_utilisation_is_throughput_times_service_time(affinity, cards):
    found = simulate(setup(traffic=poisson(60 * cards), affinity=affinity, jobs=60_000), cards)
    assert found.utilisation == pytest.approx(0.6, rel=0.03)
    assert found.late == 0


def test_one_list_for_all_cards_waits_less_than_a_list_for_each():
    load = {"traffic": poisson(300), "jobs": 60_000, "spill_at": 10**6}
    shared = simulate(setup(affinity="random", **load), 5)
    own = simulate(setup(affinity="session", **load), 5)
    assert shared.waits_s.mean() < own.waits_s.mean()


def test_spilling_over_takes_calls_from_a_card_that_is_busy():
    load = {"traffic": poisson(400), "jobs": 60_000, "affinity": "session"}
    never, at_two = (simulate(setup(spill_at=limit, **load), 5) for limit in (10**6, 2))
    assert at_two.percentile_ms(99) < 0.5 * never.percentile_ms(99)


def test_a_batch_takes_those_who_came_while_it_waited_and_all_are_answered_together():
    # Given four calls within the wait, one later, and a card that takes 100 ms
    times = np.array([0.0, 0.002, 0.004, 0.007, 0.05])
    calls = Calls(times, np.arange(5), np.arange(5), np.zeros(5, np.int64))
    waiting = Batching(most=16, wait_s=0.008, deadline_s=FOR_EVER)
    for affinity in ("random", "session"):
        # When they are simulated
        found = replay(setup(roofline=constant(0.1), batching=waiting, affinity=affinity), calls, 1)
        # Then the fifth waits for the first batch to end
        ends = [0.108] * 4 + [0.208]
        assert sorted(found.waits_s) == pytest.approx(sorted(np.array(ends) - times))
        assert found.batch == pytest.approx(2.5)


def test_a_full_batch_does_not_wait():
    times = np.array([0.0, 0.001])
    calls = Calls(times, np.arange(2), np.arange(2), np.zeros(2, np.int64))
    full = Batching(most=2, wait_s=0.5, deadline_s=FOR_EVER)
    found = replay(setup(batching=full, affinity="session"), calls, 1)
    assert found.waits_s.max() == pytest.approx(0.011)


def test_late_calls_are_dropped_and_an_overload_stays_an_overload_of_what_is_left():
    load = setup(traffic=poisson(200), batching=Batching(most=1, wait_s=0.0, deadline_s=0.1))
    found = simulate(load, 1)
    # Twice as many calls as one card can answer: half of them at least fall back, at the deadline.
    assert 0.5 <= found.late < 1
    assert found.waits_s.max() == pytest.approx(0.1)
    assert found.utilisation == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("affinity", ["random", "session"])
def test_a_card_that_has_become_free_waits_for_a_young_batch_to_fill(affinity):
    # Given a card that is free at 28 ms, and calls at 27 and 33
    times = np.array([0.0, 0.027, 0.033])
    calls = Calls(times, np.arange(3), np.arange(3), np.zeros(3, np.int64))
    waiting = Batching(most=16, wait_s=0.008, deadline_s=FOR_EVER)
    found = replay(setup(roofline=constant(0.02), batching=waiting, affinity=affinity), calls, 1)
    # Then both are computed from 35 ms on
    assert sorted(found.waits_s) == pytest.approx([0.022, 0.028, 0.028])


@pytest.mark.parametrize("affinity", ["random", "session"])
def test_work_after_the_end_is_no_utilisation(affinity):
    times = np.array([0.0, 3.0, 4.0])
    calls = Calls(times, np.arange(3), np.arange(3), np.zeros(3, np.int64))
    found = replay(setup(roofline=constant(2.0), affinity=affinity), calls, 1, begin=1.0, end=4.0)
    # The first one's second second, and the second one's first
    assert found.busy_s == pytest.approx(2.0)


@pytest.mark.parametrize("affinity", ["random", "session"])
def test_an_overloaded_card_is_always_busy(affinity):
    found = simulate(setup(traffic=poisson(200), affinity=affinity), 1)
    assert found.utilisation == pytest.approx(1.0, abs=0.001)
    assert found.waits_s.max() > 10


@pytest.mark.parametrize(("layout", "second_is_cached"), [("deck", False), ("pointwise", True)])
def test_a_users_next_session_finds_memories_but_no_deck(layout, second_is_cached):
    # Given two sessions of one user, the second of which has begun before the simulation did
    turns = np.array([0, 1, 1])
    calls = Calls(np.arange(3.0), np.array([4, 5, 4]), np.array([9, 9, 9]), turns)
    load = {"layout": layout, "prompt": Prompt(new=0), "room": 10**6}
    first_two = Calls(calls.times[:2], calls.sessions[:2], calls.users[:2], turns[:2])
    table = layouts.turns(layout, Prompt(new=0), 2)
    alone = 1 - table.computed[0] / table.asked[0]
    # Then the second session's first call finds what its layout lets it find
    found = replay(setup(**load), first_two, 1).hit_ratio
    assert bool(found > alone + 0.05) is second_is_cached
    # And the first one's second call finds all
    shared = int(table.shared[1]) * (1 + second_is_cached)
    expected = 1 - (3 * table.computed[0] - shared) / (3 * table.asked[0])
    assert replay(setup(**load), calls, 1).hit_ratio == pytest.approx(expected)


def test_every_call_is_counted_once():
    found = simulate(setup(), 2)
    assert found.calls == pytest.approx(20_000, rel=0.03)
    assert len(found.waits_s) == found.calls


def test_sessions_that_come_back_to_their_card_find_their_deck_there():
    decks = {
        "roofline": Roofline(1e-5, 0.0, 0.0, 0.0, 0.0, 0.0),
        "room": 60_000,
        "layout": "deck",
        "prompt": Prompt(deck_max=30),
        "traffic": Traffic(calls_per_s=20.0, turns=10.0, think_s=5.0, users=1_000),
        "batching": Batching(deadline_s=FOR_EVER),
    }
    back, anywhere = (simulate(setup(**decks, affinity=affinity), 8) for affinity in ("session", "random"))
    assert back.hit_ratio > anywhere.hit_ratio + 0.3
    assert back.utilisation < anywhere.utilisation


def test_the_seed_decides_everything():
    one, same, other = (simulate(setup(seed=seed), 2) for seed in (1, 1, 2))
    assert one.waits_s.tolist() == same.waits_s.tolist()
    assert one.waits_s.tolist() != other.waits_s.tolist()
