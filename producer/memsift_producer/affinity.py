"""Which runtime holds a session's KV: rendezvous hashing over those that workers say they drain a list for.

Thaler and Ravishankar, *Using name-based mappings to increase hit rates* (IEEE/ACM Transactions on
Networking, 1998). Every frontend finds the same favourite without asking anybody, and when one of n runtimes
comes or goes, only every n-th session moves.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

from memsift_producer.cards import Card, throughput
from memsift_schemas.job import RerankJob
from memsift_schemas.keys import own_key
from memsift_schemas.ranker_names import asks_runtime

# So many jobs may wait for a runtime before others take them, in units of what its worker may have under
# way, about what it gets done while a batch takes. Measured with three workers (limit 24), real lists and
# a fake runtime in which a job without KV costs twice one with it; 180 sessions; the second half of 12 s.
# Median time to answer in ms (p99), and how many jobs met their KV:
#
#   load         no affinity  .125        .25        .5         1          2
#   30%          48 (100)     -           -          39 (75)    39 (72)    -           39%, with affinity 99%
#   60%          623 (864)    -           -          47 (88)    45 (109)   46 (88)     38%, 100%
#   90%          grows        579 (1501)  456 (981)  302 (515)  293 (566)  138 (746)   40%, 88 to 96%
#   60%, skewed  48 (90)      72 (171)    109 (261)  202 (382)  325 (487)  542 (741)   76%, 95 to 97%
#   90%, skewed  -            331 (515)   567 (828)  240 (456)  196 (607)  312 (953)   90 to 92%
#
# Skewed: how often sessions ask follows Zipf's law, so that one runtime is the favourite of too many.
ROOM = 0.5


@dataclass(frozen=True, slots=True)
class OwnList:
    """The list of one runtime.

    Attributes:
        runtime: the name that cards give the runtime.
        key: the Redis list.
        card: key of the card of a worker that drains it; without it nothing may be pushed.
        most: so many jobs may wait there while others are free; see `ROOM`.
        jobs_per_s: what its workers get done together; 0 when they do not know.
    """

    runtime: str
    key: str
    card: str
    most: int
    jobs_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Favourite:
    """Where a session's jobs should go.

    Attributes:
        own: that runtime's list.
        spills: whether any worker that drains the queue could take the job as well.
    """

    own: OwnList
    spills: bool


class Affinity:
    """Finds a job's favourite among the runtimes of the workers that are present."""

    def __init__(self, queue: str, *, enabled: bool) -> None:
        self._queue = queue
        self._enabled = enabled
        self._cards: tuple[Card, ...] = ()
        self._lists: dict[str, OwnList] = {}
        self._choices: dict[str | None, tuple[tuple[bytes, Favourite], ...]] = {}

    @property
    def lists(self) -> list[OwnList]:
        """All own lists that are drained now."""
        return list(self._lists.values())

    @property
    def cards(self) -> tuple[Card, ...]:
        """What the workers that are present said of themselves last; a card that has just gone is empty."""
        return self._cards

    def learn(self, cards: Iterable[Card]) -> None:
        """Take over which workers are present."""
        self._cards = tuple(cards)
        self._choices.clear()
        if not self._enabled:
            return
        drained: dict[str, list[Card]] = {}
        for card in self._cards:
            if card.runtime and card.limit:
                drained.setdefault(card.runtime, []).append(card)
        self._lists = {name: self._own(name, by) for name, by in sorted(drained.items())}

    def keeps_kv(self, ranker: str | None) -> bool:
        """Whether a worker that is present would keep KV of such a job."""
        return any(_serves(card, ranker) and _keeps_kv(card, ranker) for card in self._cards)

    def favourite(self, job: RerankJob) -> Favourite | None:
        """Where this job's session has its KV; None when any worker will do as well."""
        if not self._lists:
            return None
        choices = self._choices.get(job.ranker)
        if choices is None:
            choices = self._choices[job.ranker] = self._choices_for(job.ranker)
        if not choices:
            return None
        if len(choices) == 1:
            return choices[0][1]
        session = f"{job.user}\0{job.session}".encode()
        return max(choices, key=lambda choice: (_weight(choice[0], session), choice[0]))[1]

    def _own(self, name: str, cards: list[Card]) -> OwnList:
        return OwnList(
            name,
            key=own_key(self._queue, name),
            card=cards[0].key,
            # Workers that share a runtime share its limit too.
            most=math.ceil(max(card.limit for card in cards) * ROOM),
            jobs_per_s=throughput(cards),
        )

    def _choices_for(self, ranker: str | None) -> tuple[tuple[bytes, Favourite], ...]:
        """The runtimes that can take such a job; none where it makes no difference."""
        serving = [card for card in self._cards if _serves(card, ranker)]
        names = {card.runtime for card in serving if card.runtime in self._lists and _keeps_kv(card, ranker)}
        everybody = len(serving) == len(self._cards)
        if len(names) <= 1 and everybody:
            return ()
        return tuple((name.encode(), Favourite(self._lists[name], everybody)) for name in sorted(names))


def _serves(card: Card, ranker: str | None) -> bool:
    return ranker is None or ranker in card.serves


def _keeps_kv(card: Card, ranker: str | None) -> bool:
    return asks_runtime(ranker or next(iter(card.serves), ""))


def _weight(runtime: bytes, session: bytes) -> bytes:
    return hashlib.blake2b(runtime + b"\0" + session, digest_size=8).digest()
