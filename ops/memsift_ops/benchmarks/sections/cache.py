"""`memsift bench cache`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsift_ops.benchmarks.section import Section, Table
from memsift_ops.evaluation.plots.amounts import amounts


def section(record: Mapping[str, Any], machine: str) -> Section:
    """What the prefix cache serves in each layout of the prompt."""
    layouts = record["layouts"]
    text = [
        f"Sessions replayed on the real engine ({record['arguments']['runtime']}) in four layouts of the "
        "prompt, from each session's second turn on. Less time: naive over this layout, with its spread over "
        "the sessions. What the layouts are: [decks.md](decks.md).",
    ]
    rows = []
    for name, one in layouts.items():
        ratio = record["naive_over"].get(name)
        rows.append(
            [
                name,
                f"{one['cached_share']:.1%}",
                f"{one['prefill_tokens_per_turn']:.0f}",
                f"{one['p50_ms_from_turn_2']:.0f}",
                "" if ratio is None else f"{ratio['wall']:.1f}x ({ratio['least']:.1f}-{ratio['most']:.1f})",
                f"{one['hit_at_3']:.3f}",
            ]
        )
    heads = ("layout", "cached", "prefilled tokens a turn", "p50 ms", "less time", "hit@3")
    picture = amounts(
        {name: one["prefill_tokens_per_turn"] for name, one in layouts.items()}, "tokens prefilled a turn"
    )
    pictures = {"Tokens prefilled a turn": picture} if picture is not None else {}
    return Section(
        "cache", "The prefix cache", "memsift bench cache", machine, text, [Table(heads, rows)], pictures
    )
