"""The circuit breaker as one process sees it: free of I/O, read by every call at no cost.

Michael Nygard, *Release It!* (2007). Libraries were looked at: circuitbreaker counts in one process's memory,
purgatory, aiobreaker and pybreaker can share their state through Redis by a round trip per call. None trips
on latency or lets one probe through over all processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memsift_producer.breaker_state import Reading, Tally
from memsift_schemas.clock import Clock
from memsift_schemas.result import Cause

if TYPE_CHECKING:
    from memsift_schemas.settings import ProducerSettings

# What says that the way to the model is broken. Not: wrong input, a full house, a caller who went away.
FAILURES = frozenset(
    {
        Cause.DEADLINE,
        Cause.REDIS_UNAVAILABLE,
        Cause.RUNTIME_UNAVAILABLE,
        Cause.RUNTIME_TIMEOUT,
        Cause.RUNTIME_GARBAGE,
        Cause.RANKER_ERROR,
    }
)
# Of these a call with too little time says nothing: a patient one might have been answered.
IMPATIENCE = frozenset({Cause.DEADLINE, Cause.REDIS_UNAVAILABLE, Cause.RUNTIME_TIMEOUT})
# What an answer is taken to need until one was seen.
UNKNOWN_ANSWER_S = 0.1
# Of so many answers the median is what one usually needs.
RECENT = 64
# A call asks at most this long whether it may be the probe; one round trip is under a millisecond.
CLAIM_WAIT_S = 0.1
# How long after its own deadline a probe is still waited for, before another may be sent.
PROBE_GRACE_S = 1.0


@dataclass(slots=True, eq=False)
class Claim:
    """A call that would like to be the probe."""

    token: str
    patience: float
    granted: asyncio.Future[bool]


class Breaker:
    """Decides whether a call may be sent, from the last reading and from what happened since.

    It opens when so many calls have failed that were sent since the model last answered anybody. Of a killed
    worker's batch, and of what an overload left too little time, others were answered meanwhile: that says
    something about those jobs, not that nobody serves.

    The numbers that trip it are shared by all frontends (`breaker_state`). While Redis is away it is open
    here, and the background link is the probe.

    Attributes:
        reading: the last one.
        away: Redis does not answer; True until it first does.
        wake: set when there is something to report at once.
    """

    def __init__(self, settings: ProducerSettings, clock: Clock) -> None:
        self._limit = settings.breaker_failures
        self._slow_s = settings.breaker_p99_ms / 1e3
        self._interval_s = settings.breaker_probe_ms / 1e3
        self._clock = clock
        self._tally = Tally()
        self._told = Tally()  # what is on its way to Redis
        self._ended = ("", "")
        self._claim: Claim | None = None
        self._recent: deque[float] = deque(maxlen=RECENT)
        self._batch_s = 0.0
        self._asked_at = float("-inf")
        self.reading = Reading()
        self.away = True
        self.wake = asyncio.Event()

    @property
    def is_open(self) -> bool:
        """Whether calls fall back at once."""
        return self.reading.open or self._run() >= self._limit

    @property
    def is_anxious(self) -> bool:
        """Whether it is half way to opening, so that news matters."""
        return not self.reading.open and self._run() * 2 >= self._limit

    @property
    def idle_s(self) -> float:
        """Seconds since the last call."""
        return self._clock.monotonic() - self._asked_at

    @property
    def usual_s(self) -> float:
        """What an answer needs: the median of the recent ones here, at least the workers' batch time.

        0 when no worker is present: then no patience would help.
        """
        if not self.reading.workers:
            return 0.0
        here = sorted(self._recent)[len(self._recent) // 2] if self._recent else 0.0
        return max(here, self._batch_s) or UNKNOWN_ANSWER_S

    async def admit(self, time_left: float) -> str | Cause:
        """May this call be sent?

        Args:
            time_left: seconds to its deadline.

        Returns:
            The token of the probe that it is, empty for an ordinary call; give it to `record`, whatever
            happens. Or the cause of its fallback.
        """
        self._asked_at = self._clock.monotonic()
        if self.away:
            return Cause.REDIS_UNAVAILABLE
        if not self.is_open:
            return ""
        if self._claim is not None or not self._probe_is_due(time_left):
            return Cause.BREAKER_OPEN
        return await self._be_probe(time_left) or Cause.BREAKER_OPEN

    def record(self, probe: str, cause: Cause | None, seconds: float, *, had: float = math.inf) -> None:
        """Tell how an admitted call ended.

        Args:
            probe: what `admit` returned.
            cause: why it fell back; None when the model answered.
            seconds: what it took.
            had: seconds from when it was sent to its deadline.
        """
        answered, failed, slow = cause is None, cause in FAILURES, seconds > self._slow_s
        if answered:
            self._recent.append(seconds)
        if probe:
            how = "ok" if answered and not slow else "failed" if answered or failed else "void"
            self._ended = (probe, how)
            self.wake.set()
        elif self.reading.open or self.away:
            return  # what was sent before it opened says nothing new, and without Redis nothing about workers
        elif answered:
            self._tally.answered(self._clock.time(), slow=slow)
            if self.reading.failures:
                self.wake.set()
        elif failed and not (cause in IMPATIENCE and had < self.usual_s):
            sent_at = self._clock.time() - seconds
            if sent_at > max(self._tally.answered_at, self._told.answered_at, self.reading.answered_at):
                self._tally.failed.append(sent_at)
                self.wake.set()

    def give_up(self, probe: str) -> None:
        """A call was cancelled; another may be the probe in its place."""
        self.record(probe, Cause.CLOSED, 0.0)

    def report(self) -> tuple[Tally, tuple[str, str], Claim | None]:
        """What is to be told now: outcomes, a probe that ended, one that would be sent. Tells it once."""
        self._told, self._tally = self._tally, Tally()
        ended, self._ended = self._ended, ("", "")
        self.wake.clear()
        return self._told, ended, self._claim

    def learn(self, reading: Reading, claim: Claim | None) -> None:
        """Take over the answer to a `report`."""
        self.away = False
        self.reading = reading
        self._told = Tally()
        if reading.open:
            self._tally = Tally()
        self._answer(claim, granted=reading.granted)

    def learn_batch_s(self, seconds: float) -> None:
        """What the workers say that their batches take; 0 when they do not know."""
        self._batch_s = seconds

    def lost(self) -> None:
        """Redis is away: what happened here says something about the link, not about workers."""
        self.away = True
        self._tally, self._told, self._ended = Tally(), Tally(), ("", "")
        self._answer(self._claim, granted=False)

    def _run(self) -> int:
        return self._tally.run(self._told.run(self.reading.failures))

    def _probe_is_due(self, time_left: float) -> bool:
        now = self._clock.time()
        # One with too little time would fail anyhow: it goes when for an interval no other came.
        due = self.reading.next_probe + (self._interval_s if time_left < self.usual_s else 0.0)
        return self.reading.open and now >= due and now >= self.reading.probe_until

    async def _be_probe(self, time_left: float) -> str:
        claim = Claim(
            secrets.token_hex(8), time_left + PROBE_GRACE_S, asyncio.get_running_loop().create_future()
        )
        self._claim = claim
        self.wake.set()
        granted = False
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(CLAIM_WAIT_S, time_left)):
                    granted = await claim.granted
        except asyncio.CancelledError:
            if claim.granted.done() and not claim.granted.cancelled() and claim.granted.result():
                self.give_up(claim.token)
            raise
        finally:
            if self._claim is claim and claim.granted.cancelled():
                # Nobody waits for it any more; an answer that still comes is given back in `_answer`.
                self._claim = None
        return claim.token if granted else ""

    def _answer(self, claim: Claim | None, *, granted: bool) -> None:
        if claim is None:
            return
        if self._claim is claim:
            self._claim = None
        if not claim.granted.done():
            claim.granted.set_result(granted)
        elif granted:
            self.give_up(claim.token)
