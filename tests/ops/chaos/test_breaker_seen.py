"""A breaker judged from outside, by the calls of an outage."""

from memsift_ops.chaos.scenarios.breaker import most_at_once, see
from tests.ops.chaos.made_up import call, fallback

DIED, BACK = 100.0, 120.0


def failure(number, at, seconds=0.01):
    return fallback(number, "runtime_unavailable", started=at, ended=at + seconds)


def refused(number, at):
    return fallback(number, "breaker_open", started=at, ended=at)


def outage(failures=10, probes=(105.0, 110.0, 115.0)):
    """As it should be: ten failures, then refusals, a probe now and then, and an answer soon after."""
    calls = [failure(at, 100.1 + at / 10) for at in range(failures)]
    calls += [refused(100 + at, 100.2 + failures / 10 + at / 10) for at in range(150)]
    calls += [failure(500 + at, moment) for at, moment in enumerate(probes)]
    calls.append(call(900, started=122.0, ended=122.1))
    return calls


def test_a_good_breaker():
    seen = see(outage(), died=DIED, back=BACK)
    assert (seen.failures_before_open, seen.probes, seen.most_probes_at_once) == (10, 3, 1)
    assert seen.probe_interval_s == 5.0
    assert abs(seen.closed_after_s - 2.1) < 1e-6


def test_one_that_opens_too_late():
    assert see(outage(failures=11), died=DIED, back=BACK).failures_before_open == 11


def test_calls_under_way_when_the_tenth_failed_are_no_failures_of_the_breaker():
    late = [failure(50 + at, 100.95, seconds=0.4) for at in range(5)]
    assert see(outage() + late, died=DIED, back=BACK).failures_before_open == 10


def test_one_that_never_opens():
    calls = [failure(at, 100.1 + at / 10) for at in range(50)]
    seen = see(calls, died=DIED, back=BACK)
    assert seen.failures_before_open is None
    assert seen.probes == 0


def test_two_probes_at_once():
    seen = see([*outage(), failure(600, 105.005)], died=DIED, back=BACK)
    assert seen.most_probes_at_once == 2


def test_one_that_never_closes():
    calls = [one for one in outage() if not one.by_model]
    assert see(calls, died=DIED, back=BACK).closed_after_s is None


def test_an_answer_from_before_the_recovery_closes_nothing():
    calls = [one for one in outage() if not one.by_model]
    early = call(901, started=99.0, ended=100.05)
    assert see([*calls, early], died=DIED, back=BACK).closed_after_s is None


def test_spans_that_only_touch_do_not_overlap():
    assert most_at_once([(0, 1), (1, 2), (2, 3)]) == 1
    assert most_at_once([(0, 2), (1, 3), (1.5, 1.6)]) == 3
    assert most_at_once([]) == 0
