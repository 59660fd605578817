"""A line holds what we say of an event, and nothing that others quote."""

import json
import logging
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_schemas.logs.formats import Human, JsonLines

SECRET = "xyzzy-secret"


def record(message="hello %s", *values, name="memsift.worker", level=logging.WARNING, error=None, **fields):
    info = (type(error), error, error.__traceback__) if error else None
    made = logging.LogRecord(name, level, __file__, 1, message, values, info)
    made.__dict__.update(fields)
    return made


def raised():
    try:
        try:
            int(SECRET)
        except ValueError as error:
            raise KeyError(SECRET) from error
    except KeyError as error:
        return error


def test_json_has_the_events_own_fields():
    line = json.loads(JsonLines().format(record("job %s falls back", "j1", job="j1", cause="expired")))
    assert line["event"] == "job j1 falls back"
    assert (line["level"], line["logger"], line["job"], line["cause"]) == (
        "warning",
        "memsift.worker",
        "j1",
        "expired",
    )
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])


def test_people_get_time_level_and_message():
    assert re.fullmatch(
        r"\d\d:\d\d:\d\d\.\d{3} WARNING hello you", Human(colour=False).format(record("hello you"))
    )
    assert "\x1b[33m" in Human(colour=True).format(record("hello"))


@pytest.mark.parametrize("form", [JsonLines(), Human(colour=False)])
def test_an_exception_is_type_and_place_with_what_it_came_from(form):
    line = form.format(record("failed", error=raised()))
    assert re.search(r"KeyError at test_formats.py:\d+, from ValueError at test_formats.py:\d+", line)
    assert SECRET not in line


@pytest.mark.parametrize("form", [JsonLines(), Human(colour=False)])
def test_what_others_put_behind_their_first_line_or_into_fields_is_left_out(form):
    said = f"Task exception was never retrieved\nfuture: {SECRET}"
    line = form.format(record(said, name="asyncio", error=raised(), data=SECRET))
    assert "Task exception was never retrieved" in line
    assert SECRET not in line


@pytest.mark.parametrize("form", [JsonLines(), Human(colour=False)])
@given(message=st.text(), value=st.text())
def test_an_event_is_one_line_whatever_it_holds(form, message, value):
    line = form.format(record(message.replace("%", "%%") + "%s", value, job=value))
    assert len(line.splitlines()) == 1
    assert "\x1b" not in line


@pytest.mark.parametrize("form", [JsonLines(), Human(colour=False)])
def test_half_a_letter_can_be_written(form):
    assert form.format(record("%s", "\ud800", job="\udfff")).encode()
