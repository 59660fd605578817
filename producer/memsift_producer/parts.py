"""What a `Reranker` is made of, how its parts hang together, start and end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redis.asyncio import Redis

from memsift_producer.admission import Admission
from memsift_producer.affinity import Affinity
from memsift_producer.afterwards import CLOSE_WAIT_S, Afterwards
from memsift_producer.answering import Answering
from memsift_producer.breaker import Breaker
from memsift_producer.dispatch import Dispatch
from memsift_producer.forgetting import forget
from memsift_producer.meter import Meter
from memsift_producer.outbox import Outbox
from memsift_producer.replies import Replies
from memsift_producer.told import OnBreaker
from memsift_producer.warming import WarmUps
from memsift_producer.watch import Watch
from memsift_schemas.clock import ServerClock
from memsift_schemas.redis_link import REDIS_FAULTS, connect, end
from memsift_schemas.result import Cause
from memsift_schemas.sealing import KeyRing

if TYPE_CHECKING:
    from memsift_schemas.settings import ProducerSettings


# Opening waits this long for Redis; after that calls are answered by the prefilter until it comes.
OPEN_WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class Parts:
    """They share two connections and one clock.

    Attributes:
        push_link: enqueues, and watches the state that all frontends share.
        reply_link: reads this process's reply list.
        breaker: whether calls are sent at all.
        dispatch: to which list.
        watch: keeps `breaker` and `dispatch` up to date.
        outbox: pushes jobs.
        replies: hands answers to who waits for them.
        answering: takes one call through all of these.
        warm_ups: sends what is to be read before its question comes.
        afterwards: keeps what answered calls leave behind.
        queue: the queue's name.
    """

    push_link: Redis
    reply_link: Redis
    breaker: Breaker
    dispatch: Dispatch
    watch: Watch
    outbox: Outbox
    replies: Replies
    answering: Answering
    warm_ups: WarmUps
    afterwards: Afterwards
    queue: str

    def start(self) -> list[asyncio.Task[None]]:
        """Begin what runs beside the calls.

        Returns:
            What is to be ended by `close`.
        """
        running = {
            "afterwards": self.afterwards.run(),
            "outbox": self.outbox.run(),
            "replies": self.replies.run(),
            "watch": self.watch.run(),
        }
        return [asyncio.create_task(run, name=f"memsift-{name}") for name, run in running.items()]

    async def ready(self) -> None:
        """Wait a moment for Redis."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(OPEN_WAIT_S):
                await self.replies.connected.wait()
                await self.watch.present.wait()

    async def close(self, tasks: Sequence[asyncio.Task[None]]) -> None:
        """Answer every call in flight with its fallback, and close both connections."""
        self.replies.refuse_all(Cause.CLOSED)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.outbox.idle.wait(), CLOSE_WAIT_S)
        await self.afterwards.close()
        await end(tasks)
        for link in (self.push_link, self.reply_link):
            with contextlib.suppress(*REDIS_FAULTS):
                await link.aclose()

    async def forget(self, user: str, memories: Sequence[str]) -> None:
        """See `Reranker.forget`."""
        await forget(self.push_link, self.queue, user=user, memories=memories)


def assemble(
    settings: ProducerSettings,
    clock: ServerClock,
    *,
    ring: KeyRing | None,
    metrics: Meter,
    on_breaker: OnBreaker | None,
) -> Parts:
    """Make them; nothing is opened yet.

    Args:
        settings: a frontend's.
        clock: the Redis server's, which `Parts.watch` sets.
        ring: opens sealed replies.
        metrics: counts.
        on_breaker: see `Reranker`.
    """
    push_link, reply_link = _connect(settings), _connect(settings)
    admission = Admission(clock)
    affinity = Affinity(settings.queue, enabled=settings.affinity)
    dispatch = Dispatch(affinity, admission)
    breaker = Breaker(settings, clock)
    watch = Watch(
        push_link,
        settings,
        breaker=breaker,
        dispatch=dispatch,
        clock=clock,
        on_breaker=on_breaker,
        metrics=metrics,
    )
    outbox = Outbox(
        push_link,
        settings.queue,
        most=settings.queue_max,
        clock=clock,
        affinity=affinity,
        on_depths=admission.pushed,
    )
    replies = Replies(reply_link, settings.queue, clock, ring=ring)
    answering = Answering(breaker=breaker, dispatch=dispatch, outbox=outbox, replies=replies, clock=clock)
    warm_ups = WarmUps(push_link, settings.queue, affinity=affinity)
    return Parts(
        push_link,
        reply_link,
        breaker,
        dispatch,
        watch,
        outbox,
        replies,
        answering,
        warm_ups,
        Afterwards(push_link, settings, clock, metrics),
        settings.queue,
    )


def _connect(settings: ProducerSettings) -> Redis:
    return connect(settings.redis_url, client_name="memsift-producer", connections=1, queue=settings.queue)
