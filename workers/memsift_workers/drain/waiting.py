"""Who waits for what, and for how long."""

from __future__ import annotations

from memsift_schemas.job import RerankJob
from memsift_schemas.redis_link import SOCKET_TIMEOUT_S
from memsift_schemas.result import Cause, Refusal
from memsift_workers.drain.delivery import Delivery
from memsift_workers.drain.replies import Reply
from memsift_workers.drain.sieve import Answered

# Fresher jobs are not asked about before they are ranked. The round trip costs about 300 us of CPU a batch.
WAITED_S = 0.02
# Replies without a deadline to keep, refusals of late jobs for instance, are tried this long.
LEAST_PATIENCE_S = 0.5


def is_unwanted(delivery: Delivery, reply: Reply, now: float) -> bool:
    """Nobody is to be sent this reply."""
    cancelled = isinstance(reply, Refusal) and reply.cause is Cause.CANCELLED
    return cancelled or is_late(delivery, now)


def is_late(delivery: Delivery, now: float) -> bool:
    """Nobody waits any more. A plain Celery client decides by its own timeout, so it is never late."""
    if delivery.job is None or delivery.envelope.wants_result:
        return False
    return now >= delivery.job.deadline


def patience_s(answered: list[Answered], now: float) -> float:
    """How long a Redis that hangs may keep replies: until nobody waits for them, and no worker for ever."""
    latest = max((delivery.job.deadline for delivery, _ in answered if delivery.job), default=now)
    return min(max(latest - now, LEAST_PATIENCE_S), SOCKET_TIMEOUT_S)


def waited(ready: list[Delivery], now: float) -> list[str]:
    """The jobs whose callers have had time to go away: a batch of fresh ones costs no round trip."""
    return [d.envelope.id for d in ready if d.job and now - (d.job.sent_at or 0.0) >= WAITED_S]


def queued_ms(job: RerankJob, popped_at: float) -> float:
    """Milliseconds between sending and popping; 0 when it is not known when the job was sent."""
    return max(popped_at - job.sent_at, 0.0) * 1e3 if job.sent_at is not None else 0.0
