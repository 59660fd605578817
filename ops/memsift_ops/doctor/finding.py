"""What a check found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """How bad it is."""

    OK = "ok"
    WARNING = "warning"  # works, and will be regretted
    FAULT = "fault"  # calls fall back, or memories are not safe
    SKIPPED = "skipped"  # could not be looked at


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        check: its name, the same in every run, such as `redis.eviction`.
        state: how bad it is.
        told: what was found, one sentence; no password, no text of a memory.
        remedy: what to do; empty where nothing is to be done.
    """

    check: str
    state: State
    told: str
    remedy: str = ""


def ok(check: str, told: str) -> Finding:
    """Nothing is to be done."""
    return Finding(check, State.OK, told)


def warning(check: str, told: str, remedy: str) -> Finding:
    """It works, and will be regretted."""
    return Finding(check, State.WARNING, told, remedy)


def fault(check: str, told: str, remedy: str) -> Finding:
    """Calls fall back, or memories are not safe."""
    return Finding(check, State.FAULT, told, remedy)


def skipped(check: str, why: str, remedy: str = "") -> Finding:
    """It could not be looked at."""
    return Finding(check, State.SKIPPED, why, remedy)


def is_healthy(findings: Iterable[Finding]) -> bool:
    """Whether none of them is a fault."""
    return all(one.state is not State.FAULT for one in findings)
