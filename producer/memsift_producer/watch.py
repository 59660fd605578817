"""The background task that keeps this process's copy of the shared state fresh, and tells when it changes."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from typing import TYPE_CHECKING

from redis.asyncio import Redis

from memsift_producer.breaker import Breaker, Claim
from memsift_producer.breaker_state import BreakerState, Reading
from memsift_producer.cards import Card, read_card
from memsift_producer.dispatch import Dispatch
from memsift_producer.meter import Meter
from memsift_producer.told import BreakerChange, OnBreaker
from memsift_schemas import sentry
from memsift_schemas.clock import Clock
from memsift_schemas.keys import worker_key
from memsift_schemas.metrics.shared import QUEUE_LIST, Shared
from memsift_schemas.redis_link import REDIS_FAULTS, Pause, tell

if TYPE_CHECKING:
    from memsift_schemas.settings import ProducerSettings

log = logging.getLogger("memsift.producer")

# Counted in Sentry by the process that opened the breaker; `memsift status` counts it too.
OPENED = "memsift.breaker.opened"

# How old the copy may be while calls come, while none do, and when the breaker may open any moment: each
# call that starts before the news is one more that fails.
POLL_S = 0.1
IDLE_POLL_S = 1.0
ANXIOUS_POLL_S = 0.01
# Calls come while the last one is younger than this.
IDLE_AFTER_S = 1.0
# A look, of two round trips at most, that takes longer is one at a server that does not answer.
LOOK_S = 2.0
# Workers write their cards once a second.
CARDS_EVERY_S = 1.0

NO_ANSWER = "the last {failures} calls in a row got no answer from a worker"
SLOW = "more than 1% of the answers took longer than {p99_ms} ms"
MEANING = (
    "the breaker opened: {why}. Every call of every frontend falls back to the prefilter at once; "
    "one probe every {probe_ms} ms finds out when workers answer again. See `memsift status`."
)


class Watch:
    """Reports outcomes to Redis and reads breaker, queue and workers, on a connection that others use too."""

    def __init__(  # noqa: PLR0913  # one keyword per collaborator
        self,
        redis: Redis,
        settings: ProducerSettings,
        *,
        breaker: Breaker,
        dispatch: Dispatch,
        clock: Clock,
        on_breaker: OnBreaker | None = None,
        metrics: Meter | None = None,
    ) -> None:
        self._metrics = metrics or Meter()
        self._redis = redis
        self._settings = settings
        self._state = BreakerState(redis, settings)
        self._breaker = breaker
        self._dispatch = dispatch
        self._clock = clock
        self._on_breaker = on_breaker
        self._cards_at = float("-inf")
        self._shown = BreakerChange(open=False, reason="", ours=False)
        self._told_away = False
        self.present = asyncio.Event()

    async def run(self) -> None:
        """Go on for ever, across any fault of Redis; ends by being cancelled."""
        pause = Pause()
        while True:
            try:
                async with asyncio.timeout(LOOK_S):
                    await self.once()
            except REDIS_FAULTS as fault:
                self._lost(fault)
                await asyncio.sleep(pause.next())
                continue
            pause.reset()
            self._told_away = False
            self.present.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._rest_s()):
                    await self._breaker.wake.wait()

    def _rest_s(self) -> float:
        if self._breaker.idle_s > IDLE_AFTER_S:
            return IDLE_POLL_S
        return ANXIOUS_POLL_S if self._breaker.is_anxious else POLL_S

    async def once(self) -> None:
        """One round trip; a second one for the workers' cards, once a second.

        Raises:
            RedisError: Redis is away.
        """
        tally, ended, claim = self._breaker.report()
        wanted, patience = _wanted(claim)
        lists = self._dispatch.affinity.lists
        began = self._clock.monotonic()
        reading = await self._state.exchange(
            self._clock.time(),
            tally,
            ended=ended,
            wanted=wanted,
            patience=patience,
            own=[own.key for own in lists],
        )
        took = self._clock.monotonic() - began
        self._breaker.learn(reading, claim)
        self._dispatch.learn(reading)
        self._tell(reading)
        waits = {QUEUE_LIST: reading.queue, **{own.runtime: reading.own[own.key] for own in lists}}
        now, is_open = self._clock.time(), self._breaker.is_open
        self._metrics.looked(self._settings.queue, Shared(waits, len(reading.workers), is_open, now, took))
        if self._clock.monotonic() - self._cards_at >= CARDS_EVERY_S:
            self._cards_at = self._clock.monotonic()
            self._dispatch.learn_cards(await self._cards(reading))
            self._breaker.learn_batch_s(self._dispatch.admission.batch_s)

    async def _cards(self, reading: Reading) -> list[Card]:
        keys = [worker_key(self._settings.queue, name) for name in reading.workers]
        found = await self._redis.mget(keys) if keys else ()
        cards = [read_card(key, raw) for key, raw in zip(keys, found, strict=True)]
        return [card for card in cards if not card.paused]

    def _lost(self, fault: Exception) -> None:
        self._breaker.lost()
        self._metrics.lost(self._settings.queue)
        self.present.clear()
        if not self._told_away:
            self._told_away = True
            log.warning(
                "Redis is away (%s): every call falls back at once until it answers", type(fault).__name__
            )
            if (sdk := sentry.sdk()) is not None:
                sdk.capture_message(
                    f"memsift: Redis is away ({tell(fault)}), answers come from the prefilter",
                    level="error",
                    fingerprint=["memsift-redis-away"],
                )
            self._change(BreakerChange(open=True, reason="redis", ours=True))

    def _tell(self, reading: Reading) -> None:
        if reading.flipped == "opened":
            why = (SLOW if reading.reason == "slow" else NO_ANSWER).format(
                failures=reading.failures, p99_ms=self._settings.breaker_p99_ms
            )
            said = MEANING.format(why=why, probe_ms=self._settings.breaker_probe_ms)
            log.error("%s", said)
            if (sdk := sentry.sdk()) is not None:
                sdk.capture_message(
                    f"memsift: {said}", level="error", fingerprint=["memsift-breaker-open", reading.reason]
                )
                sdk.metrics.count(OPENED, 1, attributes={"reason": reading.reason})
        elif reading.flipped == "closed":
            log.warning("the breaker closed: a probe was answered, calls are sent to the workers again")
        self._change(BreakerChange(reading.open, reading.reason, ours=bool(reading.flipped)))

    def _change(self, change: BreakerChange) -> None:
        if (change.open, change.reason) == (self._shown.open, self._shown.reason):
            return
        self._shown = change
        if change.open and change.ours:
            self._metrics.opened(change.reason)
        if self._on_breaker is None:
            return
        try:
            self._on_breaker(change)
        except Exception as error:  # noqa: BLE001  # a metric must not stop the watch
            log.warning("the hook for breaker changes raised %s", type(error).__name__)


def _wanted(claim: Claim | None) -> tuple[str, float]:
    if claim is None or claim.granted.done():
        return "", 0.0
    return claim.token, claim.patience
