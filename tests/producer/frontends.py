"""Frontends that share one Valkey and one clock, whose background round trips a test makes by hand."""

import asyncio
import contextlib
import math
import uuid

from memsift_producer.admission import Admission
from memsift_producer.affinity import Affinity
from memsift_producer.breaker import Breaker
from memsift_producer.dispatch import Dispatch
from memsift_producer.watch import Watch
from memsift_schemas import Cause
from memsift_schemas.redis_link import connect
from memsift_schemas.settings import ProducerSettings

FAST = 0.01


class Frontend:
    """A breaker and its watch, as one process has them."""

    def __init__(self, settings, clock, on_breaker=None):
        self.link = connect(settings.redis_url, client_name="test", connections=1)
        self.breaker = Breaker(settings, clock)
        self.admission = Admission(clock)
        self.affinity = Affinity(settings.queue, enabled=settings.affinity)
        self.changes = []
        self.watch = Watch(
            self.link,
            settings,
            breaker=self.breaker,
            dispatch=Dispatch(self.affinity, self.admission),
            clock=clock,
            on_breaker=on_breaker or self.changes.append,
        )
        self.watch._state.stale_s = math.inf  # the tests' clock is not the server's

    async def look(self):
        """One round trip."""
        await self.watch.once()
        return self.breaker.reading

    async def call(self, cause=None, seconds=FAST, had=1.0):
        """A call that is admitted and ends so; returns why it was not, or None."""
        admitted = await self.breaker.admit(had)
        if isinstance(admitted, Cause):
            return admitted
        self.breaker.record(admitted, cause, seconds, had=had)
        return None

    async def ask_for_probe(self, had=1.0):
        """The token that a call gets while the breaker is open, or the cause of its fallback."""
        asking = asyncio.create_task(self.breaker.admit(had))
        await asyncio.sleep(0)
        await self.look()
        return await asking

    async def close(self):
        await self.link.aclose()


@contextlib.asynccontextmanager
async def frontends(url, clock, count, **settings):
    """So many frontends on a queue of their own, each having looked once."""
    made = ProducerSettings(redis_url=url, queue=f"test:{uuid.uuid4().hex[:12]}", **settings)
    all_of_them = [Frontend(made, clock) for _ in range(count)]
    try:
        for one in all_of_them:
            await one.look()
        yield all_of_them
    finally:
        for one in all_of_them:
            await one.close()


def is_token(answer):
    """A cause is a `str` too."""
    return bool(answer) and not isinstance(answer, Cause)


async def opened(some, failures=10):
    for _ in range(failures):
        await some[0].call(Cause.DEADLINE)
    for one in some:
        await one.look()
