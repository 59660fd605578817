"""Why each memory of a call came in or stayed out."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from memsift_schemas.decision import Decision, DecisionText, Told, Weighed
from memsift_schemas.result import Source


def fate(memory: Weighed, decision: Decision) -> str:
    """One memory's way, in words."""
    if memory.duplicate_of is not None:
        return f"out: says the same as {memory.duplicate_of}, which is newer"
    if not memory.sent:
        place = memory.prefilter_place
        return f"out: place {place} of the prefilter, and the best {decision.weights.keep} go on"
    if memory.picked:
        return "in the prompt"
    if memory.relevance is not None and memory.relevance < decision.min_relevance:
        return f"out: relevance {memory.relevance:.2f} is below {decision.min_relevance:g}"
    return f"out: place {memory.place}, and the prompt holds {decision.top_k}"


def head(decision: Decision, told: Told | None) -> list[str]:
    """Who answered, why, by what, and what was said of it, a line each."""
    by = " ".join(filter(None, (decision.ranker, decision.model, decision.prompt_version)))
    asked = f"; the call named {decision.asked}" if decision.asked else ""
    source = f"answered by the {decision.source}" + (f" ({by})" if by else "") + asked
    if decision.source is Source.PREFILTER:
        source += f", because: {decision.cause}"
    weights = decision.weights
    lines = [
        f"job {decision.job}, {decision.at:%Y-%m-%d %H:%M:%S} UTC, "
        f"{decision.timings_ms.get('total', 0):.0f} of {decision.deadline_ms:.0f} ms",
        source,
        f"prefilter: {weights.vector:g} similarity + {weights.recency:g} recency + {weights.keyword:g} "
        f"keywords (z-scores; half-life {weights.half_life_days:g} days); the best {weights.keep} go on",
    ]
    if decision.fusion_weight is not None:
        lines.append(f"score = prefilter's z-score + {decision.fusion_weight:g} x model")
    limit = f", none below a relevance of {decision.min_relevance:g}" if decision.min_relevance else ""
    lines.append(f"the prompt holds {decision.top_k}{limit}")
    if told is not None:
        lines.append(f"feedback: used {_listed(told.used)}; missed {_listed(told.missed)}")
    return lines


def as_json(decision: Decision, told: Told | None, text: DecisionText | None) -> dict[str, Any]:
    """The same for `--json`: the log's own fields, each memory with its `fate`."""
    found = decision.model_dump(mode="json", exclude={"text", "kind", "v"})
    for row, memory in zip(found["memories"], decision.memories, strict=True):
        row["fate"] = fate(memory, decision)
    found["feedback"] = told.model_dump(mode="json", include={"at", "used", "missed"}) if told else None
    if text is not None:
        found["text"] = text.model_dump(mode="json")
    return found


def show(console: Console, decision: Decision, told: Told | None, text: DecisionText | None) -> None:
    """Print it: a table on a terminal, else plain lines."""
    for line in head(decision, told):
        console.print(escape(line), soft_wrap=True)
    texts = {memory.id: memory.text for memory in text.memories} if text else {}
    if text is not None:
        console.print(escape(f"question: {text.query}"), soft_wrap=True)
        if text.reason:
            console.print(escape(f"the model's reason: {text.reason}"), soft_wrap=True)
    if not console.is_terminal:
        for memory in decision.memories:
            told_text = f"  {texts[memory.id]}" if memory.id in texts else ""
            console.print(
                escape(f"{memory.id}: {fate(memory, decision)}  {_numbers(memory)}{told_text}"),
                soft_wrap=True,
            )
        return
    console.print(_table(decision, texts))


def _table(decision: Decision, texts: dict[str, str]) -> Table:
    table = Table(box=box.ROUNDED, header_style="dim")
    for name in ("place", "memory", "what became of it"):
        table.add_column(name, overflow="fold")
    for name in ("similarity", "recency", "keywords", "prefilter", "model", "score", "relevance"):
        table.add_column(name, justify="right")
    for memory in decision.memories:
        named = f"{memory.id}  {texts[memory.id]}" if memory.id in texts else memory.id
        before = "" if memory.prefilter is None else f"{memory.prefilter:+.2f} ({memory.prefilter_place})"
        table.add_row(
            "" if memory.place is None else str(memory.place),
            escape(named),
            escape(fate(memory, decision)),
            *(_signed(value) for value in (memory.similarity, memory.recency, memory.keyword)),
            before,
            _signed(memory.model),
            _signed(memory.score),
            "" if memory.relevance is None else f"{memory.relevance:.2f}",
            style="" if memory.picked else "dim",
        )
    return table


def _numbers(memory: Weighed) -> str:
    named = {
        "similarity": memory.similarity,
        "recency": memory.recency,
        "keywords": memory.keyword,
        "prefilter": memory.prefilter,
        "model": memory.model,
        "score": memory.score,
        "relevance": memory.relevance,
    }
    return " ".join(f"{name} {value:+.3f}" for name, value in named.items() if value is not None)


def _signed(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f}"


def _listed(ids: tuple[str, ...]) -> str:
    return ", ".join(ids) or "none"
