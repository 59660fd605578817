"""Any order of outcomes, reports, probes, deaths and time: the shared state is what a simple model says."""

import asyncio
import uuid

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from memsift_producer.breaker import PROBE_GRACE_S
from memsift_schemas import Cause
from memsift_schemas.settings import ProducerSettings
from tests.conftest import ManualClock
from tests.producer.frontends import FAST, Frontend

FRONTENDS = 3
LIMIT = 4
INTERVAL_S = 1.0
PROBE_LIVES_S = 1.0 + PROBE_GRACE_S

some_frontend = st.integers(0, FRONTENDS - 1)


class Breakers(RuleBasedStateMachine):
    """The model: what was reported, by when it was sent or answered; one probe, one clock."""

    url = ""

    def __init__(self):
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = ManualClock()
        queue = f"test:{uuid.uuid4().hex[:12]}"
        shared = ProducerSettings(
            redis_url=self.url,
            queue=queue,
            breaker_failures=LIMIT,
            breaker_probe_ms=int(INTERVAL_S * 1e3),
        )

        async def make():
            made = [Frontend(shared, self.clock) for _ in range(FRONTENDS)]
            for one in made:
                await one.look()
            return made

        self.frontends = self.runner.run(make())
        self.unreported = [[] for _ in self.frontends]
        self.probes = {}  # token -> (frontend, lost at)
        self.open = False
        self.answered = 0.0
        self.failed = []
        self.next_probe = 0.0

    def teardown(self):
        async def close():
            for one in self.frontends:
                await one.close()

        self.runner.run(close())
        self.runner.close()

    @rule(
        at=some_frontend,
        causes=st.lists(st.sampled_from([None, Cause.DEADLINE, Cause.CLOSED]), max_size=6),
    )
    def calls_end(self, at, causes):
        for cause in causes:
            before = self.frontends[at].breaker.reading.open
            if self.runner.run(self._sent(at, cause)) and cause is not Cause.CLOSED and not before:
                self.unreported[at].append((cause is not None, self.clock.now))
                self.clock.advance(0.125)  # whole milliseconds, as Redis keeps them

    async def _sent(self, at, cause):
        one = self.frontends[at]
        if one.breaker.is_open:
            return False
        return await one.call(cause) is None

    @rule(at=some_frontend)
    def report(self, at):
        """One round trip, as a frontend's watch makes it."""
        self.runner.run(self.frontends[at].look())
        self._reported(at)

    def _reported(self, at):
        outcomes, self.unreported[at] = self.unreported[at], []
        if self.open:
            return
        self.answered = max([self.answered, *(ended for failed, ended in outcomes if not failed)])
        self.failed += [ended - FAST for failed, ended in outcomes if failed]
        self.failed = [sent for sent in self.failed if sent > self.answered]
        if len(self.failed) >= LIMIT:
            self.open, self.failed = True, []
            self.next_probe = self.clock.now + INTERVAL_S
            self.probes = {}

    @rule(at=some_frontend)
    def ask_for_probe(self, at):
        self.report(at)
        if not self.open:
            return
        free = all(self.clock.now >= lost for _, lost in self.probes.values())
        answer = self.runner.run(self.frontends[at].ask_for_probe())
        if self.clock.now >= self.next_probe and free:
            assert answer
            assert not isinstance(answer, Cause)
            self.probes = {answer: (at, self.clock.now + PROBE_LIVES_S)}
        else:
            assert answer is Cause.BREAKER_OPEN

    @precondition(lambda self: self.probes)
    @rule(cause=st.sampled_from([None, Cause.DEADLINE, Cause.CLOSED]))
    def probe_ends(self, cause):
        ((token, (at, _)),) = self.probes.items()
        self.frontends[at].breaker.record(token, cause, FAST)
        self.runner.run(self.frontends[at].look())
        self._reported(at)
        self.probes = {}
        if cause is None:
            self.open, self.answered = False, self.clock.now
        elif cause is Cause.DEADLINE:
            self.next_probe = self.clock.now + INTERVAL_S

    @rule(seconds=st.sampled_from([0.25, 1.0, 2.5]))
    def time_passes(self, seconds):
        self.clock.advance(seconds)

    @rule()
    def the_link_breaks(self):
        self.frontends[0].breaker.lost()
        self.unreported[0] = []

    @invariant()
    def everyone_who_looks_sees_the_models_state(self):
        reading = self.runner.run(self._look_on())
        assert reading.open == self.open
        if not self.open:
            assert reading.failures == len(self.failed)
        else:
            lost = max((lost for _, lost in self.probes.values()), default=0.0)
            assert abs(reading.probe_until - lost) < 0.01

    async def _look_on(self):
        if not hasattr(self, "onlooker"):
            self.onlooker = Frontend(self.frontends[0].watch._settings, self.clock)
            self.frontends.append(self.onlooker)
        return await self.onlooker.look()


def test_the_shared_state_is_the_models(valkey_url):
    machine = type("BreakersHere", (Breakers,), {"url": valkey_url})
    run_state_machine_as_test(machine, settings=settings(max_examples=25, stateful_step_count=30))
