"""What the tools are given and give back; agents read these descriptions."""

from __future__ import annotations

import json
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, FiniteFloat

from memsift_producer.explanation import Explained
from memsift_schemas.job import MAX_CANDIDATES
from memsift_schemas.memory import Id, Kind, Turn
from memsift_schemas.result import Cause, Source
from memsift_schemas.text import NOT_BLANK_PATTERN, clean


class Form(BaseModel):
    """Base of all of them: frozen, silent about values in errors."""

    model_config = ConfigDict(frozen=True, hide_input_in_errors=True, allow_inf_nan=False)


def _not_blank(value: Any) -> Any:
    if isinstance(value, str) and not clean(value).strip():
        raise ValueError("must not be blank")
    return value


def _from_text(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


def _from_json(value: Any) -> Any:
    """Some agents send a list as the JSON of one."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


Text = Annotated[str, BeforeValidator(_not_blank), Field(json_schema_extra={"pattern": NOT_BLANK_PATTERN})]


class MemoryItem(Form):
    """One memory; more fields than these are not read."""

    text: Text = Field(repr=False, description="What is remembered; over 2,000 characters it is cut.")
    id: Id | None = Field(
        None, description="Yours, unique; comes back with the memory. Without one it is `#` and the position."
    )
    created_at: AwareDatetime | None = Field(
        None, description="When it was learned: ISO 8601 with a time zone, such as 2026-03-02T10:12:00+08:00."
    )
    kind: Kind = Field(Kind.UNKNOWN, description="What sort of thing it says; guessed where unknown.")
    similarity: FiniteFloat | None = Field(None, description="What a vector store said, on any scale.")


Item = Annotated[MemoryItem, BeforeValidator(_from_text)]


class Arguments(Form):
    """What both tools are asked."""

    model_config = ConfigDict(extra="forbid")

    query: Text = Field(repr=False, description="The user's question, in their own words.")
    turns: Annotated[tuple[Turn, ...], BeforeValidator(_from_json)] = Field(
        (), repr=False, description="The conversation before the question, oldest first."
    )
    top_k: int = Field(3, ge=1, le=MAX_CANDIDATES, description="How many memories the prompt holds.")
    min_relevance: FiniteFloat | None = Field(
        None, ge=0, le=1, description="Leave out what is known to be less probably relevant."
    )
    user: Id | None = Field(None, description="Whose memories these are; keeps users' caches apart.")
    session: Id | None = Field(None, description="The conversation; its later questions are answered faster.")
    now: AwareDatetime | None = Field(
        None, description="When the question was asked, in the user's time zone. Default: now, in UTC."
    )
    deadline_ms: int | None = Field(None, ge=1, description="How long it may take, in milliseconds.")
    ranker: str | None = Field(
        None, max_length=64, description="Another ranker than the workers' default, such as `jev`."
    )


class ToRerank(Arguments):
    """Arguments of `rerank_memories`."""

    memories: Annotated[tuple[Item, ...], BeforeValidator(_from_json)] = Field(
        repr=False, min_length=1, description="All that recall found, in any order; usually 20 to 100."
    )


class ToExplain(Arguments):
    """Arguments of `explain_ranking`."""

    memories: Annotated[tuple[Item, ...], BeforeValidator(_from_json)] = Field(
        repr=False,
        min_length=1,
        max_length=MAX_CANDIDATES,
        description=f"All that recall found, at most {MAX_CANDIDATES}.",
    )


class Chosen(Form):
    """A memory that belongs into the prompt."""

    place: int = Field(description="From 1, the best.")
    index: int = Field(description="Its position in `memories`, from 0.")
    id: Id = Field(description="As given, else `#` and the position.")
    text: str = Field(repr=False, description="As given.")
    score: float = Field(description="Above 0 and below 1, falling along the ranking.")
    relevance: float | None = Field(
        description="The probability that it helps; null where the ranker has no calibration."
    )


class Origin(Form):
    """Who made a ranking."""

    source: Source = Field(description="`model`, or `prefilter` where the model could not answer in time.")
    cause: Cause | None = Field(description="Why the prefilter answered; null for `model`.")
    ranker: str = Field(description="Which ranker of the worker answered; empty for the prefilter.")
    advice: str = Field(description="What this means, and whether there is anything to do.")


class Reranked(Origin):
    """Result of `rerank_memories`."""

    memories: tuple[Chosen, ...] = Field(
        repr=False, description="What belongs into the prompt, best first; empty: none of them helps."
    )
    considered: int = Field(description="How many were given.")


class Explanation(Origin):
    """Result of `explain_ranking`."""

    memories: tuple[Explained, ...] = Field(description="All of them, best first.")
    timings_ms: dict[str, float] = Field(description="Milliseconds by step.")
