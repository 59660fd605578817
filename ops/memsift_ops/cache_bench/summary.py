"""From turns to the numbers of each layout."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Sequence
from typing import Any

from memsift_ops import metrics
from memsift_ops.cache_bench.layouts import NAMES
from memsift_ops.cache_bench.replay import Played

NAIVE = "naive"


def summarise(played: Sequence[Played]) -> dict[str, Any]:
    """`layouts` (numbers by name), `deck`, and `naive_over` (how much less time than `naive` each takes).

    Shares, prefilled tokens and times are of turns from the second on, quality of all turns.
    """
    by_layout = {name: [one for one in played if one.layout == name] for name in NAMES}
    return {
        "layouts": {name: _numbers(turns) for name, turns in by_layout.items()},
        "deck": _deck(by_layout["deck"]),
        "naive_over": {
            name: _ratio(by_layout[NAIVE], turns) for name, turns in by_layout.items() if name != NAIVE
        },
    }


def _numbers(turns: Sequence[Played]) -> dict[str, Any]:
    later = [one for one in turns if one.turn > 1]
    first = [one for one in turns if one.turn == 1]
    times = sorted(one.ms for one in later)
    return {
        "cached_share": sum(one.count.asked_cached for one in later) / sum(one.count.asked for one in later),
        "prefill_tokens_per_turn": statistics.fmean(_prefilled(one) for one in later),
        "prefill_tokens_first_turn": statistics.fmean(_prefilled(one) for one in first),
        "p50_ms_from_turn_2": statistics.median(times),
        "p95_ms_from_turn_2": times[int(0.95 * (len(times) - 1))],
        "cpu_ms_per_turn": statistics.fmean(one.cpu_ms for one in later),
        "hit_at_3": statistics.fmean(metrics.hit_at(3, one.ranking, one.gold) for one in turns),
        "mrr": statistics.fmean(metrics.reciprocal_rank(one.ranking, one.gold) for one in turns),
        "prompt_tokens": sum(one.count.prompt for one in turns),
        "cached_tokens": sum(one.count.cached for one in turns),
        "turns": len(turns),
    }


def _deck(turns: Sequence[Played]) -> dict[str, Any]:
    decks = [one.deck for one in turns if one.turn > 1 and one.deck is not None]
    return {
        "tokens": statistics.fmean(one.tokens for one in decks),
        "memories": statistics.fmean(one.memories for one in decks),
        "stale_share": sum(one.stale_tokens for one in decks) / sum(one.tokens for one in decks),
        "misses": dict(Counter(str(one.miss) for one in decks if one.miss)),
    }


def _prefilled(one: Played) -> int:
    return one.count.prompt - one.count.cached


def _ratio(naive: Sequence[Played], other: Sequence[Played]) -> dict[str, float]:
    """By wall and by CPU time, of the sums from the second turn on; the spread is over sessions."""

    def time(turns: Sequence[Played], session: int | None, *, cpu: bool) -> float:
        return sum(
            one.cpu_ms if cpu else one.ms for one in turns if one.turn > 1 and session in (None, one.session)
        )

    sessions = sorted({one.session for one in naive})
    each = [time(naive, one, cpu=False) / time(other, one, cpu=False) for one in sessions]
    return {
        "wall": time(naive, None, cpu=False) / time(other, None, cpu=False),
        "cpu": time(naive, None, cpu=True) / time(other, None, cpu=True),
        "least": min(each),
        "most": max(each),
    }
