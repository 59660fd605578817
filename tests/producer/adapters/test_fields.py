"""What can be read of metadata that was not written for us; what cannot is unknown, never an error."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_producer.adapters import fields
from memsift_producer.adapters.base import Adapter
from memsift_schemas import Kind, Memory

SHANGHAI = ZoneInfo("Asia/Shanghai")
MOMENT = datetime(2026, 3, 2, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        MOMENT,
        MOMENT.astimezone(SHANGHAI),
        "2026-03-02T10:12:00+08:00",
        " 2026-03-02T02:12:00Z ",
        MOMENT.timestamp(),
        int(MOMENT.timestamp() * 1_000),
        np.float64(MOMENT.timestamp()),
    ],
)
def test_a_moment_is_read_in_whatever_form(value):
    assert fields.moment(value, None) == MOMENT


@pytest.mark.parametrize("value", ["2026-03-02T10:12:00", datetime(2026, 3, 2, 10, 12)])
def test_a_time_without_a_zone_is_unknown_unless_a_zone_was_named(value):
    assert fields.moment(value, None) is None
    assert fields.moment(value, SHANGHAI) == MOMENT


@pytest.mark.parametrize("value", ["2026-03-02", date(2026, 3, 2)])
def test_so_is_a_day(value):
    assert fields.moment(value, None) is None
    assert fields.moment(value, SHANGHAI) == datetime(2026, 3, 2, tzinfo=SHANGHAI)


@pytest.mark.parametrize("value", [None, True, "", "last week", math.nan, math.inf, 1e300, [], {}, b"2026"])
def test_what_is_no_time_is_unknown(value):
    assert fields.moment(value, SHANGHAI) is None


def test_kinds_numbers_vectors_and_ids():
    assert fields.kind("preference") is Kind.PREFERENCE
    assert {fields.kind(value) for value in ("taste", None, 3, [])} == {Kind.UNKNOWN}
    assert fields.number(np.float32(0.5)) == 0.5
    assert [fields.number(value) for value in (None, True, "1", math.nan, math.inf)] == [None] * 5
    assert fields.vector(np.array([1.0, 2.0])) == (1.0, 2.0)
    assert [fields.vector(v) for v in (None, [], ["a"], [math.nan], [[1.0]])] == [None] * 5
    assert (fields.identity("a"), fields.identity(7)) == ("a", "7")
    assert [fields.identity(v) for v in (None, True, "", " a", "a\x01", "a" * 129, 1.5)] == [None] * 7


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.datetimes() | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(text=st.text(), meta=st.dictionaries(st.sampled_from(["created_at", "kind", "similarity"]), anything))
def test_whatever_metadata_says_a_memory_can_be_made_of_it(text, meta):
    adapter = Adapter(timezone="Asia/Shanghai")
    made = adapter._document(f"a{text}", meta, id=meta.get("kind"), embedding=meta.get("similarity"))
    memory = Memory.model_validate({**made, "id": made["id"] or "x"})
    assert memory.text.startswith("a")


def test_the_keys_are_options():
    adapter = Adapter(time_key="when", kind_key="sort", similarity_key="near")
    made = adapter._document("a", {"when": MOMENT, "sort": "fact", "near": 0.5})
    assert (made["created_at"], made["kind"], made["similarity"]) == (MOMENT, Kind.FACT, 0.5)
    # The framework's own field beats metadata
    assert adapter._document("a", {"near": 0.5}, similarity=0.9)["similarity"] == 0.9


def test_offsets_of_any_sort_stay():
    zone = timezone(timedelta(hours=5, minutes=45))
    assert fields.moment(MOMENT.astimezone(zone), None).utcoffset() == timedelta(hours=5, minutes=45)
