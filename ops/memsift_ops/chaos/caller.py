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
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

import sentry_sdk

from memsift_ops.chaos import question
from memsift_ops.chaos.plan import Plan
from memsift_ops.chaos.record import Call
from memsift_ops.chaos.ticker import Ticker
from memsift_producer import Reranker

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
        call, loop = f"{self._plan.name}-{number}", asyncio.get_running_loop()
        seconds = self._plan.deadline_ms / 1e3
        asked = question.ask(
            call,
            secret=self._plan.secret,
            candidates=self._plan.candidates,
            deadline_at=time.time() + seconds,
        )
        began, started = loop.time(), time.time()
        deadline = began + seconds
        control = asyncio.ensure_future(waited_until(deadline))
        ranked: tuple[str, ...] = ()
        source, cause = "", ""
        try:
            async with asyncio.timeout(seconds + HUNG_S):
                found = (await self._reranker.rerank(**asked, deadline=seconds)).result
            ranked = (*(place.id for place in found.ranking), *found.pruned)
            source, cause = found.source.value, found.cause.value if found.cause else ""
        except TimeoutError:
            cause = "hung"
        except Exception as error:  # noqa: BLE001  # whatever it raises, the caller has no answer
            cause = type(error).__name__
        over = loop.time() - deadline
        # A control that is not even back yet is at least as late.
        lag = control.result() if control.done() else max(over, 0.0)
        control.cancel()
        ended = started + seconds + over
        kept = Call(
            *(call, self._plan.candidates, started, ended, ranked, source, cause), over * 1e3, lag * 1e3
        )
        fault = "" if number % FAULT_EVERY else self._plan.fault
        self._record.write(b"".join(one.to_line() for one in spoiled(kept, fault)))


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
        if plan.fault == "leak":
            log.warning("injected: %s", plan.secret)
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
