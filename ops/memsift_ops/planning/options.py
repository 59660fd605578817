"""The options of `memsift plan`, and under which headings its help shows them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import click

from memsift_ops import sectioned
from memsift_ops.planning.dispatch import AFFINITIES
from memsift_ops.planning.layouts import LAYOUTS
from memsift_ops.planning.roofline import KV_BYTES, WEIGHT_BYTES

Command = TypeVar("Command", bound=Callable[..., Any])
_FILE = click.Path(dir_okay=False, path_type=Path)
_SHARE = click.FloatRange(0, 1, min_open=True)
_MORE_THAN_NOTHING = click.FloatRange(0, min_open=True)
_NOT_LESS = click.FloatRange(0)
_TOKENS = click.IntRange(0, 100_000)


def _choice(known: Any) -> click.Choice[str]:
    return click.Choice(list(known))


# Heading of the help -> its options: name, default, type, what it is.
SECTIONS: dict[str, list[tuple[str, Any, Any, str]]] = {
    "The load": [
        ("--calls-per-day", 1e6, _MORE_THAN_NOTHING, "Calls on a day, of all users."),
        ("--users", 20_000, click.IntRange(1), "Users on a day."),
        (
            "--peak",
            2.0,
            click.FloatRange(1),
            "Busiest hour over the day's mean; an assumption, measure yours.",
        ),
        ("--turns", 10.0, click.FloatRange(1), "Mean calls of a session."),
        ("--think-time", 45.0, _MORE_THAN_NOTHING, "Mean seconds between two calls of a session."),
    ],
    "The prompt": [
        (
            "--layout",
            "deck",
            _choice(LAYOUTS),
            "naive: nothing shared; deck: new memories appended; or one each.",
        ),
        ("--memories", 20, click.IntRange(1, 1000), "Memories of a call; a deck begins with as many."),
        ("--memory-tokens", 100, click.IntRange(1, 100_000), "Tokens of a memory."),
        (
            "--new-memories",
            2,
            click.IntRange(0, 1000),
            "Memories of a turn that the one before did not have.",
        ),
        (
            "--deck-max",
            30,
            click.IntRange(1, 1000),
            "A deck that would outgrow so many memories is laid anew.",
        ),
        ("--instruction-tokens", 80, _TOKENS, "Tokens before the memories."),
        ("--conversation-tokens", 280, _TOKENS, "Tokens of the conversation; likelihood reads none."),
        ("--question-tokens", 40, click.IntRange(1, 100_000), "Tokens of the question and what follows it."),
    ],
    "The hardware": [
        ("--card", "rtx4090", str, "A card of --list, or a TOML file with yours."),
        ("--model", "qwen3-4b", str, "A model of --list, a TOML file, or a config.json of Hugging Face."),
        ("--weights", "bf16", _choice(WEIGHT_BYTES), "Precision of the weights."),
        ("--kv", "bf16", _choice(KV_BYTES), "Precision of keys and values."),
        ("--usd-per-hour", None, _NOT_LESS, "What a card costs.  [default: as --list says]"),
        ("--mfu", 0.6, _SHARE, "Share of the peak FLOP/s that is reached."),
        ("--bandwidth-use", 0.8, _SHARE, "Share of the memory's bandwidth that is reached."),
        ("--memory-fraction", 0.85, _SHARE, "Share of the memory for weights and KV."),
        ("--overhead-ms", 5.0, _NOT_LESS, "Fixed time of a batch."),
    ],
    "The workers": [
        (
            "--affinity",
            "session",
            _choice(AFFINITIES),
            "session: back to the same card; random: whoever is free.",
        ),
        (
            "--spill-at",
            2,
            click.IntRange(1),
            "Calls at which a card is busy and its sessions go to the next.",
        ),
        ("--batch-max", 16, click.IntRange(1, 1024), "As MEMSIFT_BATCH_MAX."),
        ("--batch-wait-ms", 8.0, _NOT_LESS, "As MEMSIFT_BATCH_WAIT_MS."),
        ("--deadline", 400.0, _NOT_LESS, "As MEMSIFT_DEADLINE_MS; 0: callers wait for ever."),
    ],
    "The answer": [
        (
            "--workers",
            None,
            click.IntRange(1, 100_000),
            "Cards that there are.  [default: as many as are needed]",
        ),
        ("--target-p99", 400.0, _MORE_THAN_NOTHING, "Milliseconds that 99 of 100 callers wait at most."),
        ("--jobs", 100_000, click.IntRange(100), "Simulated calls that count; the warm-up comes on top."),
        ("--seed", 1, click.IntRange(0), "Of all random choices."),
        ("--html", None, _FILE, "Write a report with pictures."),
        ("--svg", None, _FILE, "Write the pictures alone."),
    ],
}

_FLAGS: list[tuple[str, str, bool, str]] = [
    ("--compare/--no-compare", "compare", True, "Also tell what reuse, affinity and fp8 change."),
    ("--json", "as_json", False, "Print one JSON object."),
    ("--list", "list_hardware", False, "Show the cards and models that are known, and their sources."),
    (
        "--validate",
        "validate",
        False,
        "Instead hold the simulator against the embedded engine, some minutes.",
    ),
]


class Sectioned(sectioned.Sectioned):
    """`memsift plan`."""

    sections: ClassVar = {
        title: tuple(flag.removeprefix("--").replace("-", "_") for flag, *_ in told)
        for title, told in SECTIONS.items()
    }


def all_of(command: Command) -> Command:
    """Give a command all the options."""
    for flags, name, default, about in reversed(_FLAGS):
        command = click.option(
            flags, name, is_flag=True, default=default, show_default="/" in flags, help=about
        )(command)
    for told in reversed(SECTIONS.values()):
        for flag, default, kind, about in reversed(told):
            shown = default is not None
            command = click.option(flag, default=default, type=kind, show_default=shown, help=about)(command)
    return command
