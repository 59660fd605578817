"""What a `Reranker` is made of, and how its parts hang together."""

from __future__ import annotations

from dataclasses import dataclass

from redis.asyncio import Redis

from memsift_producer.admission import Admission
from memsift_producer.affinity import Affinity
from memsift_producer.answering import Answering
from memsift_producer.breaker import Breaker
from memsift_producer.dispatch import Dispatch
from memsift_producer.meter import Meter
from memsift_producer.outbox import Outbox
from memsift_producer.replies import Replies
from memsift_producer.warming import WarmUps
from memsift_producer.watch import OnBreaker, Watch
from memsift_schemas.clock import ServerClock
from memsift_schemas.redis_link import connect
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import ProducerSettings


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
    return Parts(push_link, reply_link, breaker, dispatch, watch, outbox, replies, answering, warm_ups)


def _connect(settings: ProducerSettings) -> Redis:
    return connect(settings.redis_url, client_name="memsift-producer", connections=1, queue=settings.queue)
