"""A caller: a process with a real `Reranker` that calls as planned and records what came back.

    python -m memsift_ops.chaos.caller FILE

FILE holds a `Plan`, whose secret must not stand in an argument.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import BinaryIO

import sentry_sdk

from memsift_ops.chaos import question
from memsift_ops.chaos.plan import LEAK_FAULT, Plan
from memsift_ops.chaos.record import LEFT, Call
from memsift_ops.chaos.ticker import Ticker
from memsift_producer import Reranker, Reranking

log = logging.getLogger("chaos.caller")

# A call that has not returned so long after its deadline never will.
HUNG_S = 5.0
LOOK_FOR_GO_S = 0.02
BURN_EVERY_S = 0.1
# A plan's fault hits every fourth call alone: a check must find it among good ones.
FAULT_EVERY = 4
# Sentry's own tracing is on for a part of the calls: its spans must hold no text either.
TRACED = 0.02


class Caller:
    """Makes the calls of one plan."""

    def __init__(self, plan: Plan, reranker: Reranker, record: BinaryIO) -> None:
        self._plan = plan
        self._reranker = reranker
        self._record = record
        self._random = random.Random(plan.seed)
        self._made = 0
        self._all_made = asyncio.Event()

    async def run(self) -> None:
        """Make all of them; returns when each has returned or hung."""
        async with asyncio.TaskGroup() as group:
            if self._plan.callers:
                for _ in range(self._plan.callers):
                    group.create_task(self._user(random.Random(self._random.random())))
            else:
                async for number in self._arrivals():
                    group.create_task(self._call(number))

    async def _user(self, chance: random.Random) -> None:
        # Users do not all come at the same moment.
        await asyncio.sleep(chance.random() * self._plan.think_s)
        while self._made < self._plan.calls:
            number = self._made
            self._made += 1
            if self._made == self._plan.calls:
                self._all_made.set()
            await self._call(number)
            # An answer that needed no wait must not keep the others from theirs.
            await asyncio.sleep(0)
            if self._plan.think_s:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._all_made.wait(), chance.expovariate(1 / self._plan.think_s))

    async def _arrivals(self) -> AsyncIterator[int]:
        loop = asyncio.get_running_loop()
        due, number = loop.time(), 0
        for rate, seconds in self._plan.rates:
            many = int(rate * seconds)
            # Order statistics of a uniform: a Poisson process of known count.
            for moment in sorted(self._random.uniform(0, seconds) for _ in range(many)):
                await asyncio.sleep(max(due + moment - loop.time(), 0))
                yield number
                number += 1
            due += seconds

    async def _call(self, number: int) -> None:
        plan = self._plan
        call = f"{plan.name}-{number}"
        deadline_s = plan.deadline_ms / 1e3
        leaves = bool(plan.leave_ms) and number % 2 == 1
        seconds = plan.leave_ms / 1e3 if leaves else deadline_s
        asked = question.ask(
            call, secret=plan.secret, candidates=plan.candidates, deadline_at=time.time() + seconds
        )
        timing = Timing()
        answer = asyncio.ensure_future(
            timing.measure(self._reranker.rerank(**asked, deadline=deadline_s), seconds, leaves=leaves)
        )
        await asyncio.wait((answer,), timeout=deadline_s + HUNG_S)
        over, lag = timing.result()
        ranked, source, cause = came_of(answer, leaves=leaves)
        started, ended = timing.started, timing.started + seconds + over
        kept = Call(call, plan.candidates, started, ended, ranked, source, cause, over * 1e3, lag * 1e3)
        fault = "" if number % FAULT_EVERY else plan.fault
        self._record.write(b"".join(one.to_line() for one in spoiled(kept, fault)))


class Timing:
    """When a call returned, and when a task did that only waited for the same deadline on the same loop."""

    def __init__(self) -> None:
        self.started = time.time()
        self._deadline = 0.0
        self._over: float | None = None
        self._control: asyncio.Future[float] | None = None

    async def measure(self, call: Awaitable[Reranking], seconds: float, *, leaves: bool) -> Reranking:
        """Await it.

        Args:
            call: not yet begun: its own deadline is measured from the moment that this is.
            seconds: to its deadline, or until its caller leaves.
            leaves: cancel it then.
        """
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        self.started, self._deadline = time.time(), loop.time() + seconds
        self._control = asyncio.ensure_future(waited_until(self._deadline))
        if leaves and task is not None:
            loop.call_at(self._deadline, task.cancel)
        try:
            return await call
        finally:
            self._over = loop.time() - self._deadline

    def result(self) -> tuple[float, float]:
        """Seconds by which the call was late (one that hangs, up to now), and the control."""
        over, control = self._over, self._control
        if over is None:
            over = asyncio.get_running_loop().time() - self._deadline
        # A control that is not even back yet is at least as late.
        lag = control.result() if control is not None and control.done() else max(over, 0.0)
        if control is not None:
            control.cancel()
        return over, lag


def came_of(answer: asyncio.Future[Reranking], *, leaves: bool) -> tuple[tuple[str, ...], str, str]:
    """What a call came to: ids, source and cause as in `Call`. One that still runs is ended.

    Args:
        answer: the call.
        leaves: it was given up on purpose.
    """
    cause = ""
    if not answer.done():
        answer.cancel()
        cause = "hung"
    elif answer.cancelled():
        cause = LEFT if leaves else "cancelled"
    elif error := answer.exception():  # whatever it raises, the caller has no answer
        cause = type(error).__name__
    if cause:
        return (), "", cause
    found = answer.result().result
    ranked = (*(place.id for place in found.ranking), *found.pruned)
    return ranked, found.source.value, found.cause.value if found.cause else ""


async def waited_until(deadline: float) -> float:
    """The control: as little as a task can do that waits for the same deadline on the same loop.

    Returns:
        Seconds by which it came back late, which is the loop's own lag.
    """
    loop = asyncio.get_running_loop()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(deadline):
            await loop.create_future()
    return loop.time() - deadline


def spoiled(call: Call, fault: str) -> list[Call]:
    """The call as it is recorded: as it was, unless the plan wants a fault that a check must find."""
    match fault:
        case "unanswered":
            return []
        case "invalid":
            return [dataclasses.replace(call, ranked=(*call.ranked[1:], call.ranked[-1]))]
        case "foreign":
            return [dataclasses.replace(call, ranked=("another-0.0", *call.ranked[1:]))]
        case "late":
            return [dataclasses.replace(call, over_ms=call.over_ms + 1e4)]
    return [call]


async def burn(milliseconds: float) -> None:
    """Block the loop again and again, as a busy frontend does."""
    while True:
        await asyncio.sleep(BURN_EVERY_S)
        until = time.perf_counter() + milliseconds / 1e3
        while time.perf_counter() < until:
            pass


async def told_to_go(plan: Plan) -> None:
    """Say that this process is ready, and wait until all are."""
    folder = Path(plan.folder)
    (folder / f"{plan.name}.ready").touch()
    while not (folder / "go").exists():  # noqa: ASYNC110  # another process makes it
        await asyncio.sleep(LOOK_FOR_GO_S)


async def main(plan: Plan) -> None:
    """Call as planned."""
    folder = Path(plan.folder)
    ticker = Ticker()
    async with Reranker.from_url(plan.redis_url, queue=plan.queue) as reranker:
        await told_to_go(plan)
        if plan.fault == LEAK_FAULT:
            log.warning("injected: %s", plan.secret)
            sentry_sdk.capture_message(plan.secret)
        aside = [asyncio.create_task(ticker.run())]
        if plan.burn_ms:
            aside.append(asyncio.create_task(burn(plan.burn_ms)))
        with (folder / f"{plan.name}.calls").open("wb", buffering=1 << 16) as record:
            await Caller(plan, reranker, record).run()
        for task in aside:
            task.cancel()
    (folder / f"{plan.name}.lag").write_text(ticker.as_json())


if __name__ == "__main__":
    given = Plan.load(Path(sys.argv[1]).read_text())
    logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(name)s %(levelname)s %(message)s")
    sentry_sdk.init(dsn=given.dsn, traces_sample_rate=TRACED)
    asyncio.run(main(given))
    sentry_sdk.flush(2)
