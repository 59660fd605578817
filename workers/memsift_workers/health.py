"""Whether jobs are answered by the model: the log and Sentry hear when that ends, and when it is so again.

Sentry is told once per change and not per job. Besides, a worker that takes jobs counts itself once a minute;
a metric monitor in Sentry that wants to see more than nothing of it is the alarm for workers that are gone,
without a cron monitor (https://docs.sentry.io/platforms/python/metrics/,
https://docs.sentry.io/product/monitors-and-alerts/monitors/).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import sentry_sdk

from memsift_schemas.clock import Clock
from memsift_schemas.result import Cause
from memsift_workers.rankers.base import Outcome, Scores

log = logging.getLogger("memsift.worker")

# What callers see when the model, not the job, is at fault.
_CAUSES = frozenset(
    {Cause.RUNTIME_UNAVAILABLE, Cause.RUNTIME_TIMEOUT, Cause.RUNTIME_GARBAGE, Cause.RANKER_ERROR}
)
# Fewer in a row, or over a shorter time, are a hiccup: a runtime that restarts, a bad job.
LEAST_JOBS = 10
LEAST_S = 1.0
# A runtime that comes and goes is told of this often at most; what lasts longer is told then.
AGAIN_AFTER_S = 300.0
# After so many faults in a row sessions are better off at another runtime; after so long it is tried again.
UNFIT_JOBS, UNFIT_S = 3, 5.0
# What was learned from jobs so long ago says nothing any more.
STALE_S = 30.0
BEAT_EVERY_S = 60.0
BEAT = "memsift.worker.alive"


class Health:
    """Tells of a worker that answers nothing by its model."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._faults = 0
        self._since = 0.0
        self._last_at = float("-inf")
        self._told = False
        self._told_at = float("-inf")
        self._reachable = True
        self._answered_at = float("-inf")

    @property
    def is_fit(self) -> bool:
        """Whether jobs have reason to come here: the last ones were answered, or it is time to try again."""
        return self._reachable and self._is_trusted_after(UNFIT_S)

    @property
    def is_ready(self) -> bool:
        """Whether the next job would be answered by the model, as far as is known."""
        return self._reachable and self._is_trusted_after(STALE_S)

    @property
    def answered_s(self) -> float:
        """Seconds since the model last answered a job."""
        return self._clock.monotonic() - self._answered_at

    def _is_trusted_after(self, seconds: float) -> bool:
        return self._faults < UNFIT_JOBS or self._clock.monotonic() - self._last_at >= seconds

    def probed(self, *, reachable: bool) -> None:
        """The runtime was asked whether it is there, because no job has told for a while."""
        if reachable is not self._reachable:
            self._reachable = reachable
            log.warning(
                "the runtime %s", "answers again" if reachable else "does not answer: see its own log"
            )

    def note(self, outcomes: Sequence[Outcome]) -> None:
        """Take one batch's outcomes in."""
        if any(isinstance(outcome, Scores) for outcome in outcomes):
            self._answered_at = self._clock.monotonic()
            self._reachable = True
            self.well()
            return
        causes = [one.cause for one in outcomes if not isinstance(one, Scores) and one.cause in _CAUSES]
        if not causes:
            return
        self._count(len(causes))
        if self._faults >= LEAST_JOBS and self._clock.monotonic() - self._since >= LEAST_S:
            self._tell(f"no job is answered by the model any more ({causes[0].value}): callers fall back")

    def away(self) -> None:
        """No job can be taken, because a ranker could not be started."""
        self._count(1)
        if self._clock.monotonic() - self._since >= LEAST_S:
            self._tell("no job is taken, the model is not there: callers fall back")

    def well(self) -> None:
        """The model answers."""
        if self._told:
            seconds = round(self._clock.monotonic() - self._since)
            _say(f"jobs are answered by the model again, after {seconds} s", "info")
        self._faults = 0
        self._told = False

    def _count(self, faults: int) -> None:
        if not self._faults:
            self._since = self._clock.monotonic()
        self._faults += faults
        self._last_at = self._clock.monotonic()

    def _tell(self, what: str) -> None:
        now = self._clock.monotonic()
        if not self._told and now - self._told_at >= AGAIN_AFTER_S:
            self._told, self._told_at = True, now
            _say(what, "error")


class Heartbeat:
    """Counts a worker that takes jobs, in Sentry, once a minute; nothing without a DSN.

    Args:
        clock: says when a minute has passed.
        attributes: what the count can be filtered by.
    """

    def __init__(self, clock: Clock, attributes: Mapping[str, str]) -> None:
        self._clock = clock
        self._attributes = dict(attributes)
        self._beaten_at = float("-inf")

    def beat(self) -> None:
        """The worker is there and reaches Redis."""
        now = self._clock.monotonic()
        if now - self._beaten_at >= BEAT_EVERY_S:
            self._beaten_at = now
            sentry_sdk.metrics.count(BEAT, 1, attributes=dict(self._attributes))


def _say(what: str, level: str) -> None:
    # Not log.error, which Sentry would take for an event of its own.
    log.warning(what)
    sentry_sdk.capture_message(what, level=level)  # type: ignore[arg-type]  # a Literal there
