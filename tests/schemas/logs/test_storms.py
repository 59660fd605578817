"""A storm fills no disk, and nothing of it goes uncounted."""

import logging

from hypothesis import given
from hypothesis import strategies as st

from memsift_schemas.logs.storms import EVERY_S, MOST_KINDS, Storms
from tests.conftest import ManualClock


def record(message="job %s falls back", value="1", level=logging.WARNING, **fields):
    made = logging.LogRecord("memsift.worker", level, __file__, 1, message, (value,), None)
    made.__dict__.update(fields)
    return made


def test_the_first_of_a_kind_is_written_and_the_rest_are_counted(clock):
    storms = Storms(clock.monotonic)
    assert storms.takes(record(cause="expired"))
    assert [storms.takes(record(value=str(at), cause="expired")) for at in range(99)] == [False] * 99
    # Another cause, another message and another level are other kinds
    assert storms.takes(record(cause="too_late"))
    assert storms.takes(record("another %s", cause="expired"))
    assert storms.takes(record(level=logging.ERROR, cause="expired"))
    assert storms.counts() == []
    clock.advance(EVERY_S)
    (count,) = storms.counts()
    assert count.getMessage() == "job 98 falls back (the last of 99 such events in 10 s)"
    assert (count.repeated, count.cause) == (99, "expired")


def test_a_kind_that_has_been_quiet_is_a_first_one_again(clock):
    storms = Storms(clock.monotonic)
    storms.takes(record())
    clock.advance(EVERY_S)
    assert storms.counts() == []
    assert storms.takes(record())


def test_what_is_no_warning_is_always_written(clock):
    storms = Storms(clock.monotonic)
    assert all(storms.takes(record(level=logging.INFO)) for _ in range(10))


def test_endless_variety_takes_no_endless_memory(clock):
    storms = Storms(clock.monotonic)
    assert all(storms.takes(record(f"{at} %s")) for at in range(MOST_KINDS + 10))
    assert len(storms._seen) == MOST_KINDS


@given(st.lists(st.tuples(st.sampled_from("ab"), st.floats(0, 20)), max_size=60))
def test_every_event_is_written_or_counted_and_no_kind_more_than_twice_in_its_time(events):
    """Each 10 s of a kind have one line of its own and one with a count, at most."""
    clock = ManualClock()
    storms = Storms(clock.monotonic)
    written = counted = 0
    for cause, passed in events:
        clock.advance(passed)
        counted += sum(one.repeated for one in storms.counts())
        written += storms.takes(record(cause=cause))
    counted += sum(one.repeated for one in storms.counts(final=True))
    assert written + counted == len(events)
    spans = sum(passed for _, passed in events) / EVERY_S + 1
    assert written <= 2 * spans
