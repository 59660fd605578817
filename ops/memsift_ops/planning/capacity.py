"""How many cards a load needs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from memsift_ops.planning.request import Request
from memsift_ops.planning.simulate import Outcome, simulate

# Calls that may be late although the 99th percentile is within the target.
LATE_AT_MOST = 0.01
# Each step up tries so many times the cards of the one before.
STEP = 1.5
# The answer is exact up to this many cards, and from there on within as many hundredths.
EXACT = 100
HOURS_A_DAY = 24

Simulate = Callable[[int], Outcome]


@dataclass(slots=True)
class Tried:
    """One request with every number of cards that was simulated.

    Attributes:
        request: what was asked.
        outcomes: by the number of cards.
        needed: cards that meet the target; None where none do, or none was asked for.
        why: why none do.
    """

    request: Request
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    needed: int | None = None
    why: str = ""

    def with_cards(self, cards: int, advance: Callable[[int], None]) -> Outcome:
        """Simulate that many, once."""
        if cards not in self.outcomes:
            self.outcomes[cards] = simulate(self.request.setup(), cards, advance=advance)
        return self.outcomes[cards]


def meets(outcome: Outcome, target_ms: float) -> bool:
    """Whether 99 of 100 callers have the model's answer within the target."""
    return outcome.percentile_ms(99) <= target_ms and outcome.late <= LATE_AT_MOST


def search(tried: Tried, target_ms: float, simulate_with: Simulate) -> None:
    """Find the smallest number of cards that meets a target, and note it.

    More cards are taken to be never worse: there is less to wait for and more room for caches.

    Args:
        tried: where the answer goes.
        target_ms: for the 99th percentile.
        simulate_with: runs it.
    """
    request = tried.request
    # More than one call in a hundred is the first of its session, and finds nothing in any cache.
    first_is_cold = not request.turn_table(1).by_user
    if first_is_cold and 1 / request.turns > LATE_AT_MOST and request.cold_ms() > target_ms:
        tried.why = f"a first call takes {request.cold_ms():.0f} ms alone"
        return
    most = _enough(request)
    failed, cards = 0, _least(request)
    while not meets(simulate_with(cards), target_ms):
        if cards >= most:
            tried.why = f"{cards:,} cards do not bring p99 below {target_ms:g} ms"
            return
        failed, cards = cards, min(most, max(cards + 1, math.ceil(cards * STEP)))
    while cards - failed > max(1, cards // EXACT):
        middle = (failed + cards) // 2
        if meets(simulate_with(middle), target_ms):
            cards = middle
        else:
            failed = middle
    tried.needed = cards


def usd_per_million(request: Request, cards: int) -> float | None:
    """What a million calls cost when the cards are paid for all day."""
    if request.card.usd_per_hour is None:
        return None
    return request.card.usd_per_hour * HOURS_A_DAY * cards / request.calls_per_day * 1e6


def _least(request: Request) -> int:
    """Fewer cannot do the work even if every call were as cheap as the cheapest.

    The tenth off is for calls that may be late and get no work, and for chance.
    """
    seconds = (
        min(request.cold_ms(), request.warm_ms()) / 1e3 - request.batching.wait_s - request.roofline.overhead
    )
    return max(1, math.floor(request.traffic.calls_per_s * seconds * 0.9))


def _enough(request: Request) -> int:
    """More would not help: all sessions under way are cached, or cards work one second in twenty."""
    table = request.turn_table(request.prompt.deck_max)
    kept = request.traffic.sessions * int(table.kept.max()) / request.room
    dearest = max(request.roofline.seconds(table.work(turn, 0)) for turn in range(len(table.asked)))
    return math.ceil(max(4 * kept, request.traffic.calls_per_s * dearest * 20)) + 10
