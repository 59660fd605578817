"""Prints what `memsift demo` has played: tables on a terminal, plain lines where the output is piped."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from memsift_ops.played import Played
from memsift_ops.scene import Scene
from memsift_schemas.job import RerankJob
from memsift_schemas.memory import Memory
from memsift_schemas.result import RerankResult

EXPECTED = "✓"
LEGEND = f"{EXPECTED} marks what the scene's author expects in the prompt."
INSTEAD = "the prefilter would have chosen instead"


def print_scene(console: Console, scene: Scene) -> None:
    """Title and story."""
    console.print()
    console.rule(f"[bold]{escape(scene.title)}") if console.is_terminal else console.print(scene.title)
    for paragraph in scene.story:
        console.print(escape(paragraph), soft_wrap=not console.is_terminal)


def print_turn(console: Console, played: Played) -> None:
    """The question, what was chosen, what the prefilter would have chosen, and what it took."""
    question = played.question
    console.print()
    title = f"Turn {played.turn}  {question.now:%H:%M}  {question.query}"
    console.print(f"[bold cyan]{escape(title)}", soft_wrap=not console.is_terminal)
    if console.is_terminal:
        console.print(_table(played))
    else:
        _print_plain(console, played)
    for line in describe(played.reranking.result):
        console.print(f"  [dim]{escape(line)}", soft_wrap=not console.is_terminal)


def print_ranking(console: Console, job: RerankJob, result: RerankResult) -> None:
    """The ranking of a file's memories, with a line below what goes into the prompt."""
    memories = {memory.id: memory for memory in job.candidates}
    table = _new_table("place", "score", last="memory")
    for place, ranked in enumerate(result.ranking, start=1):
        memory = memories[ranked.id]
        if console.is_terminal:
            cells = (str(place), f"{ranked.score:.3f}", _day(memory), escape(memory.text))
            style = "" if place <= job.top_k else "dim"
            table.add_row(*cells, style=style, end_section=place == job.top_k)
        else:
            line = f"{place}. {ranked.id} {ranked.score:.3f} [{_day(memory)}] {memory.text}"
            console.print(escape(line), soft_wrap=True)
    if console.is_terminal:
        console.print(table)
    for line in describe(result):
        console.print(escape(line), soft_wrap=not console.is_terminal)


def describe(result: RerankResult) -> list[str]:
    """Three lines without any text of the user's: where the ranking came from, and what it cost."""
    by_whom = " ".join(filter(None, (result.ranker, result.model)))
    source = f"source: {result.source}" + (f" ({by_whom})" if by_whom else "")
    cause = f", because: {result.cause}" if result.cause else ""
    share = result.cached_tokens / max(result.prompt_tokens, 1)
    cached = f"{result.cached_tokens:,} of them cached ({share:.0%})"
    tokens = f"tokens: {result.prompt_tokens:,} in the prompts, {cached}"
    steps = ", ".join(f"{step} {ms:,.1f}" for step, ms in result.timings_ms.items())
    return [source + cause, tokens, f"milliseconds: {steps}"]


def _new_table(*numbers: str, last: str) -> Table:
    """A table of numbers, the day of a memory, and its text, which has no spaces to break at in Chinese."""
    table = Table(expand=True, header_style="dim", box=box.ROUNDED)
    for name in numbers:
        table.add_column(name, justify="right")
    table.add_column("day", no_wrap=True)
    table.add_column(last, ratio=1, overflow="fold")
    return table


def _table(played: Played) -> Table:
    table = _new_table("final", "prefilter", last="into the prompt")
    places = played.places()

    def row(memory: Memory, style: str) -> None:
        final, before = places[memory.id]
        mark = _mark(memory, played)
        table.add_row(f"{mark} {final}", str(before), _day(memory), escape(memory.text), style=style)

    for memory in played.chosen():
        row(memory, "")
    passed_over = played.passed_over()
    if passed_over:
        table.add_section()
        table.add_row("", "", "", INSTEAD, style="dim italic")
    for memory in passed_over:
        row(memory, "dim")
    return table


def _print_plain(console: Console, played: Played) -> None:
    places = played.places()

    def line(memory: Memory) -> str:
        final, before = places[memory.id]
        mark = _mark(memory, played)
        return f"  {mark or ' '} {final}. (prefilter {before}) [{_day(memory)}] {memory.text}"

    lines = ["  into the prompt:", *map(line, played.chosen())]
    passed_over = played.passed_over()
    if passed_over:
        lines += [f"  {INSTEAD}:", *map(line, passed_over)]
    for text in lines:
        console.print(escape(text), soft_wrap=True)


def _mark(memory: Memory, played: Played) -> str:
    return EXPECTED if memory.id in played.question.relevant else ""


def _day(memory: Memory) -> str:
    return "undated" if memory.created_at is None else f"{memory.created_at:%Y-%m-%d}"
