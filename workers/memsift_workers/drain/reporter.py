"""What became of each job: counted, and told to the monitors."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from memsift_schemas.clock import Clock
from memsift_schemas.result import Cause, Refusal
from memsift_workers.drain.delivery import Delivery
from memsift_workers.drain.events import EventStream
from memsift_workers.drain.replies import REVOKED, Reply
from memsift_workers.metering.meter import Meter

log = logging.getLogger("memsift.worker")

# Causes of refusals that are logged here, where a job ends, since no more is known of them.
_PLAIN = {Cause.EXPIRED, Cause.TOO_LATE, Cause.QUARANTINED, Cause.UNKNOWN_RANKER}
# Those that are not to be logged where a ranking fails: the plain ones, and what nobody waits for.
UNTOLD = _PLAIN | {Cause.CANCELLED}


class Reporter:
    """Tally, metrics and Celery task events.

    Attributes:
        tally: what became of the list items since the start, outcome or cause -> count.
    """

    def __init__(self, events: EventStream, clock: Clock, meter: Meter) -> None:
        self._events = events
        self._clock = clock
        self._meter = meter
        self.tally: Counter[str] = Counter()

    def poison(self, why: str, size: int) -> None:
        """A list item that is no job."""
        self.tally[f"poison_{why}"] += 1
        self._meter.poison(why)
        told = {"cause": f"poison_{why}", "bytes": size}
        log.warning("dropped a list item of %d bytes that is no job (%s)", size, why, extra=told)

    def received(self, delivery: Delivery, now: float) -> None:
        """A job has come; monitors need to hear it before anything else of it."""
        if delivery.refused is not None and delivery.refused is not Cause.EXPIRED:
            log.warning(
                "job %s is refused (%s): %s",
                delivery.envelope.id,
                delivery.refused,
                delivery.why,
                extra=about(delivery.envelope.id, delivery.refused),
            )
        self._events.send(
            "task-received",
            uuid=delivery.envelope.id,
            name=delivery.envelope.task,
            args="()",
            kwargs=delivery.envelope.shown,
            routing_key=delivery.envelope.queue or None,
            retries=0,
            eta=None,
            timestamp=now,
        )

    def started(self, delivery: Delivery) -> None:
        """It goes to its ranker."""
        self._events.send("task-started", uuid=delivery.envelope.id, timestamp=self._clock.time())

    def warmed(self, delivery: Delivery, how: str) -> None:
        """What became of a warm-up: `warmed`, `dropped`, `failed` or `refused`; nobody is answered."""
        self.tally[f"warm_{how}"] += 1
        self._meter.warmed(how)
        told = {"uuid": delivery.envelope.id, "timestamp": self._clock.time()}
        if how == "warmed":
            self._events.send("task-succeeded", result="warmed", runtime=0.0, **told)
        elif how == "dropped":
            self._events.send("task-revoked", terminated=True, signum=None, expired=False, **told)
        else:
            self._events.send("task-failed", exception=f"WarmUp('{how}')", **told)

    def ended(self, delivery: Delivery, reply: Reply, *, late: bool, now: float, popped_at: float) -> None:
        """It was ranked (perhaps too late for anybody) or refused."""
        uuid = delivery.envelope.id
        if not isinstance(reply, Refusal):
            self.tally["late" if late else "ranked"] += 1
            result = "late, dropped" if late else f"{len(reply.ranking)} memories ranked"
            runtime = now - popped_at
            self._events.send("task-succeeded", uuid=uuid, result=result, runtime=runtime, timestamp=now)
            return
        self.tally[reply.cause.value] += 1
        if reply.cause in _PLAIN:
            log.warning("job %s falls back: %s", uuid, reply.cause, extra=about(uuid, reply.cause))
        if reply.cause in REVOKED:
            self._events.send(
                "task-revoked",
                uuid=uuid,
                terminated=not REVOKED[reply.cause],
                signum=None,
                expired=REVOKED[reply.cause],
                timestamp=now,
            )
        else:
            exception = f"JobRefused('{reply.cause.value}')"
            self._events.send("task-failed", uuid=uuid, exception=exception, timestamp=now)

    def batch(self, answered: Sequence[tuple[Delivery, Reply]], *, now: float, popped_at: float) -> None:
        """One line for a whole batch, for who looks closely."""
        if not log.isEnabledFor(logging.DEBUG):
            return
        results = [reply for _, reply in answered if not isinstance(reply, Refusal)]
        causes = Counter(reply.cause.value for _, reply in answered if isinstance(reply, Refusal))
        told = {
            "jobs": len(answered),
            "ranked": len(results),
            "causes": dict(causes),
            "prompt_tokens": sum(result.prompt_tokens for result in results),
            "cached_tokens": sum(result.cached_tokens for result in results),
            "queue_ms": round(max((one.timings_ms.get("queue", 0.0) for one in results), default=0.0), 1),
            "rank_ms": round(max((one.timings_ms.get("rank", 0.0) for one in results), default=0.0), 1),
            "total_ms": round((now - popped_at) * 1e3, 1),
        }
        log.debug("a batch: %s", ", ".join(f"{name} {one}" for name, one in told.items()), extra=told)


def about(job_id: str, cause: Cause) -> dict[str, str]:
    """The fields of a log line about a job."""
    return {"job": job_id, "cause": cause.value}
