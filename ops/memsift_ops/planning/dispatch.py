"""Which card gets a call: its session's own, or whichever is free."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from typing import Literal

import numpy as np
import numpy.typing as npt

from memsift_ops.planning.card_queue import Batching, Call, CardQueue

Affinity = Literal["session", "random"]
AFFINITIES: tuple[Affinity, ...] = ("session", "random")
TRIED = 4


def preferences(
    keys: npt.NDArray[np.int64], cards: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """In which order a key prefers the cards: `(favourite + n x step) % cards` is the n-th.

    Over a fixed set of cards that is as good as rendezvous hashing: each key has an order of its own, and
    keys spread evenly.

    Args:
        keys: of the calls.
        cards: how many there are.

    Returns:
        The favourites and the steps.
    """
    mixed = keys.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    low, high = mixed & np.uint64(0xFFFFFFFF), mixed >> np.uint64(32)
    step = high % np.uint64(max(cards - 1, 1)) + np.uint64(1)
    return (low % np.uint64(cards)).astype(np.int64), step.astype(np.int64)


def by_session(calls: Iterable[Call], cards: Sequence[CardQueue], *, spill_at: int) -> None:
    """Each card has a list of its own. A call goes to its favourite, unless that is busy.

    Args:
        calls: in the order of their arrival.
        cards: all of them.
        spill_at: a card with so many calls waiting or under way is busy. Then the next of the key's order is
            tried, up to `TRIED`; if all are busy, the one with the fewest gets the call.
    """
    many = len(cards)
    for call in calls:
        now, _, _, favourite, step = call
        card = cards[favourite]
        least = card.pending(now)
        for tried in range(1, min(TRIED, many)):
            if least < spill_at:
                break
            other = cards[(favourite + tried * step) % many]
            pending = other.pending(now)
            if pending < least:
                card, least = other, pending
        card.waiting.append(call)
    for card in cards:
        card.catch_up(float("inf"))


def by_whoever_is_free(calls: Iterable[Call], cards: Sequence[CardQueue], batching: Batching) -> None:
    """All cards drain one list. The card that has been idle longest takes a call and waits for more."""
    shared = _SharedList(cards, batching)
    for call in calls:
        shared.arrive(call)
    shared.finish()


class _SharedList:
    """The list, who is idle, and what happens next."""

    def __init__(self, cards: Sequence[CardQueue], batching: Batching) -> None:
        self._cards = cards
        self._batching = batching
        self._waiting: deque[Call] = deque()
        self._idle: deque[int] = deque(range(len(cards)))
        # (time, card): the card has become free, or the time that its batch waits to fill is over.
        self._events: list[tuple[float, int]] = []

    def arrive(self, call: Call) -> None:
        """A call comes, after all that has happened until then."""
        while self._events and self._events[0][0] <= call[0]:
            self._happen(*heappop(self._events))
        if self._idle:
            at = self._idle.popleft()
            self._cards[at].taken = [call]
            heappush(self._events, (call[0] + self._batching.wait_s, at))
        else:
            self._waiting.append(call)

    def finish(self) -> None:
        """No more calls come."""
        while self._events:
            self._happen(*heappop(self._events))

    def _happen(self, now: float, at: int) -> None:
        card, most = self._cards[at], self._batching.most
        is_free = not card.taken
        while self._waiting and len(card.taken) < most:
            card.taken.append(self._waiting.popleft())
        if not card.taken:
            self._idle.append(at)
            return
        ready = card.taken[0][0] + self._batching.wait_s
        if is_free and ready > now and len(card.taken) < most:
            heappush(self._events, (ready, at))
            return
        batch, card.taken = card.taken, []
        heappush(self._events, (card.compute(batch, now), at))
