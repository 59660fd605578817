"""The decks of a batch's sessions: read, dealt, kept, without ever holding a job up."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from memsift_schemas.deck_use import DeckUse
from memsift_schemas.job import RerankJob
from memsift_schemas.redis_link import REDIS_FAULTS, Pause, tell
from memsift_workers.decks.deck import Deck, Limits, Size, deal
from memsift_workers.decks.laid import Laid
from memsift_workers.decks.sizes import Sizes, estimate
from memsift_workers.decks.store import DeckStore, Held, Session
from memsift_workers.decks.talk import digests, window
from memsift_workers.decks.use import deck_use
from memsift_workers.runtimes.base import Answer
from memsift_workers.strategies.layout import memory_line, talk
from memsift_workers.strategies.shortlist import shortlist

log = logging.getLogger("memsift.worker")

# A healthy Redis answers in one or two; without its deck a turn is dearer, and none the worse.
WAIT_S = 0.05
# Two workers that have turns of one session at once: the second deals again, on what the first kept.
TRIES = 2


class Decks:
    """Deals the decks of a batch, and keeps them for the next turns.

    Whatever happens to Redis, each job gets a deck: at worst one of its own candidates alone.

    Args:
        limits: when a deck is rebuilt.
        store: where decks are kept; None keeps none.
        runtime: the name of the runtime that will have the KV.
        clock: seconds, monotonic.
    """

    def __init__(
        self, limits: Limits, store: DeckStore | None, *, runtime: str, clock: Callable[[], float]
    ) -> None:
        self._limits = limits
        self._store = store
        self.runtime = runtime
        self._clock = clock
        self._sizes = Sizes()
        self._pause = Pause()
        self._away_until = float("-inf")

    async def lay(self, jobs: Sequence[RerankJob], *, most: int) -> list[Laid]:
        """The decks of a batch, in its order.

        Jobs of one session get theirs one after the other, each on what the one before left. Those that do
        not name user and session have a deck for themselves alone: nobody knows who else would see it.

        Args:
            jobs: a batch.
            most: most memories that the strategy can show.
        """
        limits = replace(self._limits, memories=min(self._limits.memories, most))
        if self._store is None or self._clock() < self._away_until:
            return self._deal_all(jobs, {}, limits)[0]
        try:
            async with asyncio.timeout(WAIT_S):
                laid = await self._kept(self._store, jobs, limits)
        except (*REDIS_FAULTS, TimeoutError) as fault:
            seconds = self._pause.next()
            self._away_until = self._clock() + seconds
            log.warning("sessions begin anew, their decks are out of reach (%s)", tell(fault))
            return self._deal_all(jobs, {}, limits)[0]
        self._pause.reset()
        return laid

    def learn(self, laid: Laid, answer: Answer) -> DeckUse:
        """Take the runtime's counts for the first prompt over a deck: what it had from the cache, and why."""
        self._sizes.learn([one.line for one in laid.entries], answer.prefix_tokens[1:])
        return deck_use(laid, answer, runtime=self.runtime)

    async def drop(self, jobs: Sequence[RerankJob]) -> None:
        """Let the sessions of jobs that could not be ranked begin anew: it may be their decks' fault."""
        if self._store is None or not jobs:
            return
        with contextlib.suppress(*REDIS_FAULTS, TimeoutError):
            async with asyncio.timeout(WAIT_S):
                await self._store.drop(_sessions(jobs))

    async def close(self) -> None:
        """Close what keeps them."""
        if self._store is not None:
            await self._store.close()

    def _deal_all(
        self, jobs: Sequence[RerankJob], held: Mapping[Session, Held], limits: Limits
    ) -> tuple[list[Laid], dict[Session, Deck]]:
        """The decks of these jobs, and what is left of each session's after the last of them."""
        decks = {session: one.deck for session, one in held.items()}
        laid = []
        for job in jobs:
            session = _session(job)
            before = decks.get(session, Deck()) if session else Deck()
            one, after = lay_one(job, before, limits, self.runtime, size=self._sizes)
            laid.append(one)
            if session:
                decks[session] = after
        return laid, decks

    async def _kept(self, store: DeckStore, jobs: Sequence[RerankJob], limits: Limits) -> list[Laid]:
        sessions = _sessions(jobs)
        found: dict[int, Laid] = {}
        for _ in range(TRIES):
            open_ = [at for at, job in enumerate(jobs) if at not in found or _session(job) in sessions]
            held = dict(zip(sessions, await store.load(sessions), strict=True))
            laid, after = self._deal_all([jobs[at] for at in open_], held, limits)
            found.update(zip(open_, laid, strict=True))
            saved = await store.save([(session, held[session], after[session]) for session in sessions])
            sessions = [session for session, done in zip(sessions, saved, strict=True) if not done]
            if not sessions:
                break
        return [found[at] for at in range(len(jobs))]


def lay_one(
    job: RerankJob, deck: Deck, limits: Limits, runtime: str, *, size: Size = estimate
) -> tuple[Laid, Deck]:
    """One job's deck, and what the session keeps of it.

    Args:
        job: the job; of more candidates than the limit the best by the prefilter are shown.
        deck: what the session's last prompt showed; one that another runtime holds begins anew.
        limits: when to rebuild.
        runtime: who will have the KV.
        size: tells the tokens of a line.
    """
    if deck.runtime not in {"", runtime}:
        # Nothing of it is cached here, so what is unused in it is worth nothing.
        deck = replace(deck, entries=(), talk=(), debt=0.0)
    chosen = shortlist(job, limits.memories)
    shown = [(job.candidates[at].id, memory_line(job.candidates[at])) for at in chosen]
    dealt = deal(deck, shown, limits, size=size)
    lines = () if job.warm else talk(job)  # warming prompts hold the memories alone
    start, kept_talk = window(lines, deck.talk)
    if not dealt.kept == len(dealt.entries) == len(deck.entries):
        kept_talk = 0  # it stands behind other memories now
    position = {job.candidates[at].id: at for at in chosen}
    laid = Laid(
        entries=dealt.entries,
        places=tuple(position.get(one.id) for one in dealt.entries),
        talk=lines[start:],
        kept=dealt.kept,
        kept_talk=kept_talk,
        changed=dealt.changed,
        turn=deck.turn + 1,
        runtime=deck.runtime,
    )
    kept = Deck(dealt.entries, digests(lines[start:]), deck.turn + 1, dealt.debt, runtime)
    return laid, kept


def _session(job: RerankJob) -> Session | None:
    return Session(job.user, job.session) if job.is_of_a_session else None


def _sessions(jobs: Sequence[RerankJob]) -> list[Session]:
    """Those that the jobs name, each once."""
    return [session for session in dict.fromkeys(map(_session, jobs)) if session]
