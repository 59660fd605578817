"""Errors at the door: what a caller did wrong, said without any memory text.

All but one are `ValueError`s: the same call can never succeed, so the caller must change it. Operational
faults do not raise out of the producer, they become the cause of a fallback; `NotForgotten` is the exception,
since there is nothing to fall back to.
"""

from __future__ import annotations

import traceback
from typing import Any

from pydantic import ValidationError


class InvalidInput(ValueError):
    """An argument or a payload is wrong. The message names the place and the remedy, never the text."""


class JobTooLarge(InvalidInput):
    """The encoded job is over `MAX_JOB_BYTES`: send fewer or shorter memories."""


class UnknownVersion(InvalidInput):
    """The payload's wire version is not one that this release reads: upgrade the older side."""


class SettingsError(ValueError):
    """A setting is wrong. The message starts with the environment variable's name."""


class NotForgotten(Exception):
    """Memories may still be in a deck: ask again."""


def describe(error: ValidationError, *, most: int | None = None) -> str:
    """`place: what is wrong` for each fault, without the offending values.

    Args:
        error: from pydantic.
        most: tell so many and count the others; None for all.
    """
    faults = error.errors(include_url=False, include_input=False)
    told = [f"{_place(fault['loc'])}: {_reason(fault)}" for fault in faults[:most]]
    if len(faults) > len(told):
        told.append(f"and {len(faults) - len(told)} more")
    return "; ".join(told)


def type_and_place(error: BaseException) -> str:
    """`Type at file:line` of any error, never its message, which may hold text."""
    place = raised_at(error)
    return f"{type(error).__name__} at {place}" if place else type(error).__name__


def raised_at(error: BaseException) -> str:
    """`file:line`, without folders; empty for an error that was never raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename.rsplit('/', 1)[-1]}:{frames[-1].lineno}" if frames else ""


def _place(loc: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in loc) or "input"


def _reason(fault: Any) -> str:
    return str(fault["msg"]).removeprefix("Value error, ")
