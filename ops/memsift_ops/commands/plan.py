"""`memsift plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from memsift_ops import console
from memsift_ops.evaluation.fitting.settings_file import write_text
from memsift_ops.planning import hardware, options, report, running, telling
from memsift_ops.planning.card_queue import Batching
from memsift_ops.planning.layouts import Prompt
from memsift_ops.planning.request import Request
from memsift_ops.planning.roofline import Efficiency


@click.command("plan", cls=options.Sectioned)
@options.all_of
def command(
    *,
    workers: int | None,
    target_p99: float,
    compare: bool,
    as_json: bool,
    html: Path | None,
    svg: Path | None,
    list_hardware: bool,
    validate: bool,
    **asked: Any,
) -> int | None:
    """Plan capacity by simulation: how many cards a load needs, and what decides it.

    Simulates the busiest hour of a day: sessions, LRU prefix caches, micro-batches, deadlines, and which
    card gets which call, with the time of each batch from a roofline of the card. Tells the hit ratio of the
    caches, how long callers wait, how busy the cards are and what a million calls cost; and what session
    reuse, affinity and fp8 change. Without --workers it finds the number of cards that keeps p99 within
    --target-p99.

    What is simulated and what is not, and where the constants come from: docs/capacity.md.
    """
    if list_hardware:
        console.stdout().print(telling.hardware_table())
        console.stdout().print(telling.model_table())
        return None
    if validate:
        from memsift_ops.planning.validation import command as validation  # noqa: PLC0415 - needs the engine

        return validation.run(as_json=as_json)
    request = _request(**asked)
    request.setup()
    pictures = html is not None or svg is not None
    found = running.find(request, cards=workers, target_ms=target_p99, compare=compare, sweep=pictures)
    shown = {name: cards for name, tried in found.items() if (cards := workers or tried.needed) is not None}
    if html is not None:
        write_text(html, report.page(request, found, shown, target_p99))
    if svg is not None:
        write_text(svg, report.picture(request, found, shown, target_p99))
    if as_json:
        console.print_json(telling.as_json(request, found, shown, target_p99))
    else:
        telling.tell(request, found, shown, None if workers else target_p99)
    return 0 if all(name in shown for name, tried in found.items() if tried.request == request) else 1


def _request(**asked: Any) -> Request:
    card = hardware.card(asked["card"])
    if asked["usd_per_hour"] is not None:
        card = card.model_copy(
            update={"usd_per_hour": asked["usd_per_hour"], "price_source": "--usd-per-hour"}
        )
    prompt = Prompt(
        instructions=asked["instruction_tokens"],
        memories=asked["memories"],
        memory=asked["memory_tokens"],
        new=min(asked["new_memories"], asked["memories"]),
        conversation=asked["conversation_tokens"],
        question=asked["question_tokens"],
        deck_max=max(asked["deck_max"], asked["memories"]),
    )
    return Request(
        card=card,
        model=hardware.model(asked["model"]),
        prompt=prompt,
        efficiency=Efficiency(
            asked["mfu"], asked["bandwidth_use"], asked["memory_fraction"], asked["overhead_ms"] / 1e3
        ),
        batching=Batching(
            asked["batch_max"], asked["batch_wait_ms"] / 1e3, asked["deadline"] / 1e3 or float("inf")
        ),
        think_s=asked["think_time"],
        **{name: asked[name] for name in _SAME},
    )


# Options whose names and units are those of `Request`.
_SAME = (
    "weights",
    "kv",
    "layout",
    "affinity",
    "calls_per_day",
    "peak",
    "users",
    "turns",
    "spill_at",
    "jobs",
    "seed",
)
