"""Reads the file of `memsift rank`: one question with its memories, every fault named at once.

Parsed with the standard library's `json`, which lets lone surrogates, NaN and Infinity through, so that they
get the answer that our own limits define for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from memsift_schemas.errors import InvalidInput
from memsift_schemas.job import DEFAULT_TOP_K, MAX_CANDIDATES, RerankJob

FIELDS = "query, memories, turns, activity, user, session, top_k and now"

AS_THEY_ARE = ("query", "turns", "activity", "user", "session")
_AS_IN = "write it as in 2026-03-02T09:30:00+08:00"

# Pydantic's type of a fault -> what is wrong and what to do, where its own message is for programmers.
EXPLAINED = {
    "timezone_aware": ("has no time zone", "add it, as in 2026-03-02T09:30:00+08:00"),
    "datetime_parsing": ("is no time", _AS_IN),
    "datetime_from_date_parsing": ("is no time", _AS_IN),
    "datetime_type": ("is no time", _AS_IN),
    "finite_number": ("is NaN or infinite", "give a finite number, or leave it out"),
    "missing": ("is missing", "add it"),
    "string_type": ("is no text", "give a string"),
    "string_too_short": ("is empty", "give some text"),
    "string_unicode": ("holds a lone surrogate", "use other characters"),
    "tuple_type": ("is no list", "give a list"),
    "model_type": ("is no object", "give a JSON object"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with the file.

    Attributes:
        place: where, such as `memories.3.created_at`.
        problem: what is wrong; never the value.
        remedy: what to do; empty where the problem says it.
    """

    place: str
    problem: str
    remedy: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.problem}" + (f"; {self.remedy}" if self.remedy else "")


class BadRequest(InvalidInput):
    """The file is no question that can be asked.

    Attributes:
        faults: all that was found.
    """

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(map(str, faults)))
        self.faults = faults


def read(raw: bytes) -> RerankJob:
    """Read and check a question.

    Args:
        raw: the file's bytes.

    Returns:
        A job with all the memories; its id and deadline mean nothing yet.

    Raises:
        BadRequest: holds every fault.
    """
    data = _decoded(raw)
    faults = list(_repeated_ids(data.get("memories")))
    try:
        job = RerankJob.model_validate(_as_job(data))
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False)
        faults += [_fault(detail) for detail in details if not _said_better(detail, details)]
        raise BadRequest(sorted(faults, key=_order)) from None
    return job


def _decoded(raw: bytes) -> dict[str, Any]:
    try:
        data = json.loads(raw)
    except UnicodeDecodeError:
        raise BadRequest([Fault("file", "is not UTF-8")]) from None
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        raise BadRequest([Fault("file", f"is not JSON ({place}: {error.msg})")]) from None
    except RecursionError:
        raise BadRequest([Fault("file", "is nested too deeply")]) from None
    if not isinstance(data, dict):
        raise BadRequest([Fault("file", "must hold one JSON object", f"with {FIELDS}")])
    return data


def _as_job(data: dict[str, Any]) -> dict[str, Any]:
    """The file's fields under the names of a job; what is left out takes a job's defaults."""
    asked: dict[str, Any] = {name: data[name] for name in AS_THEY_ARE if name in data}
    return {
        **asked,
        "id": "file",
        "candidates": data.get("memories", ()),
        "now": data["now"] if data.get("now") is not None else datetime.now().astimezone(),
        "top_k": data["top_k"] if data.get("top_k") is not None else DEFAULT_TOP_K,
        "deadline": 1.0,
    }


def _repeated_ids(memories: Any) -> Iterator[Fault]:
    """Checked here, since the schema can check it only when each memory is right by itself."""
    first: dict[str, int] = {}
    for index, memory in enumerate(memories if isinstance(memories, list) else ()):
        key = memory.get("id") if isinstance(memory, dict) else None
        if not isinstance(key, str):
            continue
        if first.setdefault(key, index) != index:
            problem = f"the same id as memories.{first[key]}"
            yield Fault(f"memories.{index}.id", problem, "give every memory an id of its own")


def _said_better(detail: Any, details: Sequence[Any]) -> bool:
    """Whether another fault says it: repeated ids, or a list that is empty only of right memories."""
    if detail["loc"] != ("candidates",):
        return False
    of_memories = any(other["loc"][:1] == ("candidates",) and len(other["loc"]) > 1 for other in details)
    return detail["type"] == "value_error" or (detail["type"] == "too_short" and of_memories)


def _fault(detail: Any) -> Fault:
    kind, loc = detail["type"], detail["loc"]
    place = ".".join(str(part) for part in loc).replace("candidates", "memories") or "file"
    if loc == ("candidates",) and kind == "too_long":
        return Fault(place, f"holds more than {MAX_CANDIDATES}", "send what recall ranks highest")
    if loc == ("candidates",) and kind == "too_short":
        return Fault(place, "holds none", "give at least one")
    if kind in EXPLAINED:
        return Fault(place, *EXPLAINED[kind])
    problem = str(detail["msg"]).removeprefix("Value error, ")
    return Fault(place, problem[0].lower() + problem[1:])


def _order(fault: Fault) -> tuple[Any, ...]:
    """By place, with memory 10 after memory 9."""
    return tuple((part.isdigit(), int(part) if part.isdigit() else part) for part in fault.place.split("."))
