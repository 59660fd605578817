"""What a worker says it got done is what it got done in the last seconds."""

import pytest

from memsift_workers.drain.recent import MOST_BATCHES, WINDOW_S, Recent


def test_nothing_is_said_of_what_never_happened(clock):
    assert Recent(clock).as_dict() == {"rate": 0.0, "fill": None, "latency_ms": None}


def test_rate_fill_and_percentiles_of_the_window(clock):
    # Given five batches of four jobs within the window, half full
    meters = Recent(clock)
    for at in range(5):
        meters.note(4, fill=0.5, latencies_s=[(4 * at + job + 1) / 100 for job in range(4)])
        clock.advance(1.0)
    # When the worker tells of them
    told = meters.as_dict()
    # Then by nearest rank over all twenty
    assert told["rate"] == pytest.approx(20 / WINDOW_S)
    assert told["fill"] == pytest.approx(0.5)
    assert told["latency_ms"] == pytest.approx({"p50": 100, "p95": 190, "p99": 200})


def test_what_was_long_ago_is_forgotten(clock):
    meters = Recent(clock)
    meters.note(16, fill=1.0, latencies_s=[9.0])
    clock.advance(WINDOW_S + 0.1)
    meters.note(1, fill=0.1, latencies_s=[0.1])
    assert meters.as_dict()["latency_ms"]["p99"] == pytest.approx(100)
    assert meters.as_dict()["rate"] == pytest.approx(1 / WINDOW_S)


def test_with_more_batches_than_are_kept_the_rate_is_that_of_those(clock):
    meters = Recent(clock)
    for _ in range(3 * MOST_BATCHES):
        meters.note(16, fill=1.0, latencies_s=[])
        clock.advance(0.005)
    assert meters.as_dict()["rate"] == pytest.approx(16 / 0.005, rel=0.01)
