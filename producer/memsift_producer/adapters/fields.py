"""What a framework's document says of itself, as fields of a memory.

Metadata was not written for us: what cannot be read counts as unknown, and is no error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, tzinfo
from numbers import Real
from typing import Any

from memsift_producer.documents import Document
from memsift_schemas.memory import MAX_ID_CHARS, Kind
from memsift_schemas.text import is_clean

# Unix times above this are milliseconds: as seconds they would lie beyond the year 5000.
_LEAST_MS = 1e11


def moment(value: Any, zone: tzinfo | None) -> datetime | None:
    """A point in time, or None where it cannot be told.

    Args:
        value: a datetime or date, ISO 8601, or a Unix time in seconds or milliseconds.
        zone: of times that name none; None: such a time is unknown.
    """
    if isinstance(value, str):
        return moment(_parsed(value), zone)
    if isinstance(value, Real) and not isinstance(value, bool):
        return _of_unix(float(value))
    if isinstance(value, datetime):
        return _in_zone(value, zone) if value.utcoffset() is None else value
    return _in_zone(datetime.combine(value, time()), zone) if isinstance(value, date) else None


def _in_zone(naive: datetime, zone: tzinfo | None) -> datetime | None:
    return None if zone is None else naive.replace(tzinfo=zone)


def _parsed(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def _of_unix(seconds: float) -> datetime | None:
    try:
        return datetime.fromtimestamp(seconds / 1e3 if abs(seconds) > _LEAST_MS else seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def kind(value: Any) -> Kind:
    """The kind of this name, else `unknown`."""
    return Kind(value) if isinstance(value, str) and value in set(Kind) else Kind.UNKNOWN


def number(value: Any) -> float | None:
    """A finite number, else None."""
    if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    return None


def vector(value: Any) -> tuple[float, ...] | None:
    """A vector of finite numbers, as a sequence or an array, else None."""
    if isinstance(value, str | bytes):
        return None
    try:
        # In one step, where it is an array.
        numbers = tuple(map(float, value.tolist() if hasattr(value, "tolist") else value))
    except (TypeError, ValueError):
        return None
    return numbers if numbers and all(map(math.isfinite, numbers)) else None


def identity(value: Any) -> str | None:
    """An id that a memory may have, else None."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    fits = 0 < len(text) <= MAX_ID_CHARS and text == text.strip() and is_clean(text)
    return text if fits else None


def document(text: Any, **said: Any) -> Document:
    """A document whose fields are read already; a text that is none counts as empty."""
    return {"text": text if isinstance(text, str) else "", **said}


def first(mapping: Mapping[str, Any], *keys: str) -> Any:
    """The value of the first key that has one."""
    return next((mapping[key] for key in keys if mapping.get(key) is not None), None)
