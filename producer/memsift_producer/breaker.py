"""The circuit breaker as one process sees it: free of I/O, read by every call at no cost.

Michael Nygard, *Release It!* (2007). Libraries were looked at (purgatory, aiobreaker, pybreaker,
circuitbreaker): none trips on latency, lets one probe through over all processes, or does without a round
trip per call.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from dataclasses import dataclass

from memsift_producer.breaker_state import Reading, Tally
from memsift_schemas.clock import Clock
from memsift_schemas.result import Cause
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

    The numbers that trip it are shared by all frontends (`breaker_state`). While Redis is away it is open
    here, and the background link is the probe.

    Attributes:
        reading: the last one.
        away: Redis does not answer; True until it first does.
        wake: set when there is something to report at once.
        asked: whether a call came since this was last set to False.
    """

    def __init__(self, settings: ProducerSettings, clock: Clock) -> None:
        self._limit = settings.breaker_failures
        self._slow_s = settings.breaker_p99_ms / 1e3
        self._clock = clock
        self._tally = Tally()
        self._told = Tally()  # what is on its way to Redis
        self._ended = ("", "")
        self._claim: Claim | None = None
        self.reading = Reading()
        self.away = True
        self.wake = asyncio.Event()
        self.asked = False

    @property
    def is_open(self) -> bool:
        """Whether calls fall back at once."""
        return self.reading.open or self._tally.run(self._told.run(self.reading.failures)) >= self._limit

    async def admit(self, time_left: float) -> str | Cause:
        """May this call be sent?

        Args:
            time_left: seconds to its deadline.

        Returns:
            The token of the probe that it is, empty for an ordinary call; give it to `record`, whatever
            happens. Or the cause of its fallback.
        """
        self.asked = True
        if self.away:
            return Cause.REDIS_UNAVAILABLE
        if not self.is_open:
            return ""
        if self._claim is not None or not self._probe_is_due():
            return Cause.BREAKER_OPEN
        return await self._be_probe(time_left) or Cause.BREAKER_OPEN

    def record(self, probe: str, cause: Cause | None, seconds: float) -> None:
        """Tell how an admitted call ended.

        Args:
            probe: what `admit` returned.
            cause: why it fell back; None when the model answered.
            seconds: what it took.
        """
        failed, slow = cause in FAILURES, seconds > self._slow_s
        counts = failed or cause is None
        if probe:
            self._ended = (probe, ("failed" if failed or slow else "ok") if counts else "void")
            self.wake.set()
        elif counts and not self.reading.open and not self.away:
            # What was sent before it opened says nothing new, and without Redis nothing about the workers.
            self._tally.add(failed=failed, slow=slow)
            if failed or self.reading.failures:
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

    def lost(self) -> None:
        """Redis is away: what happened here says something about the link, not about workers."""
        self.away = True
        self._tally, self._told, self._ended = Tally(), Tally(), ("", "")
        self._answer(self._claim, granted=False)

    def _probe_is_due(self) -> bool:
        now = self._clock.time()
        return self.reading.open and now >= self.reading.next_probe and now >= self.reading.probe_until

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
