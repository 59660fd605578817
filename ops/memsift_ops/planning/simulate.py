"""Runs a load through simulated cards and counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from memsift_ops.planning import dispatch, layouts, traffic
from memsift_ops.planning.card_queue import Batching, Call, CardQueue, Ledger
from memsift_ops.planning.dispatch import Affinity
from memsift_ops.planning.layouts import Layout, Prompt
from memsift_ops.planning.roofline import Roofline
from memsift_ops.planning.traffic import Calls, Traffic

# Columns become Python objects so many rows at a time, so that ten million calls fit into memory.
CHUNK = 100_000
# Caches are as full as they get, and sessions under way at the start have had their first call.
WARM_UP_THINK_TIMES = 4.0


@dataclass(frozen=True, slots=True)
class Setup:
    """What is simulated, but for the number of cards.

    Attributes:
        roofline: of the card with the model.
        room: tokens that fit into a card's cache.
        layout: of the prompts.
        prompt: its sizes.
        traffic: the load.
        affinity: which card gets a call.
        batching: how calls are taken.
        spill_at: see `dispatch.by_session`.
        jobs: calls that count, about; those of the warm-up come on top.
        seed: of all random choices.
    """

    roofline: Roofline
    room: int
    layout: Layout
    prompt: Prompt
    traffic: Traffic
    affinity: Affinity = "session"
    batching: Batching = field(default_factory=Batching)
    spill_at: int = 2
    jobs: int = 100_000
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it.

    Attributes:
        cards: how many.
        calls: that counted.
        warm_up: that did not.
        waits_s: what callers waited, in seconds, at most until the deadline.
        late: share of calls that were not answered by their deadline.
        hit_ratio: share of prompt tokens that were served from a cache.
        utilisation: share of the time that cards computed.
        batch: mean calls in a micro-batch.
        busy_s: seconds that cards computed, of all together.
    """

    cards: int
    calls: int
    warm_up: int
    waits_s: npt.NDArray[np.float64] = field(repr=False)
    late: float
    hit_ratio: float
    utilisation: float
    batch: float
    busy_s: float

    def percentile_ms(self, percent: float) -> float:
        """What so many of a hundred callers waited at most, milliseconds."""
        return float(np.percentile(self.waits_s, percent)) * 1e3


def simulate(setup: Setup, cards: int, *, advance: Callable[[int], None] = lambda _: None) -> Outcome:
    """Simulate a load that arrives at random.

    Args:
        setup: what to simulate.
        cards: how many there are, each with a worker.
        advance: told how many calls have come since it was told last.
    """
    warm_up_s = WARM_UP_THINK_TIMES * setup.traffic.think_s
    counted_s = setup.jobs / setup.traffic.calls_per_s
    calls = traffic.draw(setup.traffic, warm_up_s + counted_s, np.random.default_rng(setup.seed))
    return replay(setup, calls, cards, begin=warm_up_s, end=warm_up_s + counted_s, advance=advance)


def replay(
    setup: Setup,
    calls: Calls,
    cards: int,
    *,
    begin: float = -math.inf,
    end: float = math.inf,
    turns: layouts.Turns | None = None,
    advance: Callable[[int], None] = lambda _: None,
) -> Outcome:
    """Simulate given calls.

    Args:
        setup: what to simulate; its traffic is not used.
        calls: in the order of their arrival.
        cards: how many there are.
        begin: seconds; calls before it do not count.
        end: seconds; work after it does not count.
        turns: what calls hold, if the setup's layout does not say it.
        advance: told how many calls have come since it was told last.
    """
    if turns is None:
        longest = int(calls.turns.max(initial=0)) + 1
        turns = layouts.turns(setup.layout, setup.prompt, longest)
    ledger = Ledger(begin, end)
    costs = turns.costs(setup.roofline)
    fleet = [
        CardQueue(turns, costs, setup.roofline, setup.room, setup.batching, ledger) for _ in range(cards)
    ]
    rows = _rows(calls, calls.users if turns.by_user else calls.sessions, cards, advance)
    if setup.affinity == "session":
        dispatch.by_session(rows, fleet, spill_at=setup.spill_at)
    else:
        dispatch.by_whoever_is_free(rows, fleet, setup.batching)
    return _outcome(ledger, calls, cards)


def _rows(
    calls: Calls, keys: npt.NDArray[np.int64], cards: int, advance: Callable[[int], None]
) -> Iterator[Call]:
    for at in range(0, len(calls), CHUNK):
        part = slice(at, at + CHUNK)
        columns = (calls.times[part], keys[part], calls.turns[part], *dispatch.preferences(keys[part], cards))
        yield from zip(*(column.tolist() for column in columns), strict=True)
        advance(len(columns[0]))


def _outcome(ledger: Ledger, calls: Calls, cards: int) -> Outcome:
    waits = np.frombuffer(ledger.waits, dtype=np.float64) if ledger.waits else np.zeros(0)
    counted = len(waits)
    begin = max(ledger.begin, float(calls.times[0])) if len(calls) else 0.0
    end = min(ledger.end, float(calls.times[-1])) if len(calls) else 0.0
    return Outcome(
        cards=cards,
        calls=counted,
        warm_up=len(calls) - counted,
        waits_s=waits,
        late=ledger.late / max(counted, 1),
        hit_ratio=1 - ledger.computed / ledger.asked if ledger.asked else 0.0,
        utilisation=ledger.busy_s / (cards * (end - begin)) if end > begin else 0.0,
        batch=ledger.batched / max(ledger.batches, 1),
        busy_s=ledger.busy_s,
    )
