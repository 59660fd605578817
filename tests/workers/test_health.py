"""Sentry hears once when the model stops answering, once when it is back, and that a worker is there."""

import pytest
import sentry_sdk

from memsift_schemas import Cause
from memsift_workers.health import BEAT, BEAT_EVERY_S, STALE_S, UNFIT_JOBS, UNFIT_S, Health, Heartbeat
from memsift_workers.rankers.base import RankFault, Scores

AWAY = RankFault(Cause.RUNTIME_UNAVAILABLE)
GOOD = Scores((1.0,))


@pytest.fixture
def said(monkeypatch):
    """Level and text of each message."""
    messages = []
    monkeypatch.setattr(sentry_sdk, "capture_message", lambda text, level: messages.append((level, text)))
    return messages


@pytest.fixture
def health(clock):
    return Health(clock)


def fail(health, clock, jobs=10, seconds=1.0, fault=AWAY):
    """As many jobs fall back, one a batch, over this time."""
    for _ in range(jobs):
        health.note([fault])
        clock.advance(seconds / (jobs - 1))


def test_one_message_when_the_model_stops_answering_and_one_when_it_is_back(health, clock, said):
    fail(health, clock, jobs=50, seconds=20)
    assert said == [
        ("error", "no job is answered by the model any more (runtime_unavailable): callers fall back")
    ]
    health.note([AWAY, GOOD])
    health.note([GOOD])
    assert said[1:] == [("info", "jobs are answered by the model again, after 20 s")]


def test_after_a_few_faults_in_a_row_sessions_are_better_off_elsewhere_for_a_while(health, clock):
    assert health.is_fit
    for left in range(UNFIT_JOBS, 0, -1):
        assert health.is_fit, left
        health.note([AWAY])
    assert not health.is_fit
    clock.advance(UNFIT_S - 0.1)
    assert not health.is_fit
    clock.advance(0.1)
    assert health.is_fit  # for another try
    health.note([AWAY])
    assert not health.is_fit
    health.note([GOOD])
    assert health.is_fit


@pytest.mark.parametrize(("jobs", "seconds"), [(9, 60), (100, 0.5)], ids=["few", "short"])
def test_a_hiccup_is_not_told(health, clock, said, jobs, seconds):
    fail(health, clock, jobs=jobs, seconds=seconds)
    health.note([GOOD])
    assert said == []


def test_an_answer_in_between_begins_the_count_anew(health, clock, said):
    for _ in range(5):
        fail(health, clock, jobs=8, seconds=5)
        health.note([GOOD])
    assert said == []


@pytest.mark.parametrize("cause", [Cause.CANCELLED, Cause.EXPIRED])
def test_what_is_the_jobs_own_matter_counts_for_nothing(health, clock, said, cause):
    fail(health, clock, jobs=50, seconds=20, fault=RankFault(cause))
    assert said == []


def test_a_model_that_comes_and_goes_is_told_of_every_five_minutes_at_most(health, clock, said):
    for _ in range(50):  # nearly nine minutes
        fail(health, clock, jobs=20, seconds=9)
        health.note([GOOD])
        clock.advance(1)
    assert [level for level, _ in said] == ["error", "info"] * 2


def test_what_lasts_is_told_when_it_may_be_told_again(health, clock, said):
    fail(health, clock, jobs=20, seconds=5)
    health.note([GOOD])
    fail(health, clock, jobs=600, seconds=600)
    assert [level for level, _ in said] == ["error", "info", "error"]


def test_a_worker_that_waits_for_its_model_says_so_once(health, clock, said):
    for _ in range(100):
        health.away()
        clock.advance(0.5)
    health.well()
    assert [level for level, _ in said] == ["error", "info"]


def test_messages_and_heartbeat_reach_sentry(sentry, health, clock):
    fail(health, clock, seconds=5)
    Heartbeat(clock, {"queue": "q"}).beat()
    sentry_sdk.flush(2)
    sent = b"".join(sentry.sent)
    assert b"no job is answered by the model any more" in sent
    assert BEAT.encode() in sent


def test_the_heart_beats_once_a_minute(clock, monkeypatch):
    beats = []
    monkeypatch.setattr(sentry_sdk.metrics, "count", lambda *told, **more: beats.append((told, more)))
    heart = Heartbeat(clock, {"queue": "q"})
    for _ in range(121):
        heart.beat()
        clock.advance(BEAT_EVERY_S / 60)
    assert beats == [((BEAT, 1), {"attributes": {"queue": "q"}})] * 3


def test_without_a_dsn_nothing_leaves(health, clock):
    fail(health, clock, seconds=5)
    Heartbeat(clock, {"queue": "q"}).beat()
    assert not sentry_sdk.is_initialized()


def test_ready_is_who_would_be_answered_as_far_as_jobs_tell(health, clock):
    assert health.is_ready
    for _ in range(UNFIT_JOBS):
        health.note([AWAY])
    # Sessions may come again soon, to find out; readiness waits until what is known is stale
    clock.advance(UNFIT_S)
    assert (health.is_fit, health.is_ready) == (True, False)
    clock.advance(STALE_S)
    assert health.is_ready
    health.note([AWAY] * UNFIT_JOBS)
    health.note([GOOD])
    assert health.is_ready


def test_a_runtime_that_does_not_answer_a_probe_is_told_of_once_until_it_does(health, clock, said, caplog):
    assert health.answered_s == float("inf")
    for _ in range(3):
        health.probed(reachable=False)
    assert (health.is_fit, health.is_ready) == (False, False)
    assert caplog.text.count("does not answer") == 1
    health.probed(reachable=True)
    assert (health.is_fit, health.is_ready) == (True, True)
    assert caplog.text.count("answers again") == 1
    # A job that is answered proves as much
    health.probed(reachable=False)
    health.note([GOOD])
    clock.advance(2)
    assert (health.is_ready, health.answered_s) == (True, 2)
    assert said == []  # nobody was kept waiting
