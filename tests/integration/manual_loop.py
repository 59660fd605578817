"""An event loop whose time moves when a test says so, with real sockets."""

import asyncio
import time


class ManualLoop(asyncio.SelectorEventLoop):
    """`loop.time()` stands still until `advance`; sockets work as ever."""

    def __init__(self):
        self.now = 1_000.0
        super().__init__()

    def time(self):
        return self.now

    def monotonic(self):
        return self.now

    def until(self, condition, seconds=5.0):
        """Run callbacks until a condition holds; real seconds bound it."""

        async def spin():
            give_up_at = time.monotonic() + seconds
            while not condition() and time.monotonic() < give_up_at:
                await asyncio.sleep(0)
                time.sleep(0.0002)  # noqa: ASYNC251  # the selector never blocks, so the processor would burn

        self.run_until_complete(spin())
        return condition()

    def finish(self, work, seconds=20.0):
        """Run a coroutine to its end while time passes as it does for everybody."""
        task = self.create_task(work)
        began, real = self.now, time.monotonic()

        def done():
            self.now = began + time.monotonic() - real
            return task.done()

        assert self.until(done, seconds)
        return task.result()

    def turn(self, rounds=20):
        """Run whatever can run now."""

        async def spin():
            for _ in range(rounds):
                await asyncio.sleep(0)

        self.run_until_complete(spin())

    def advance(self, seconds):
        """Let time pass, and what was due run."""
        self.now += seconds
        self.turn()


class LoopClock:
    """The loop's time for code that takes a clock."""

    def __init__(self, loop):
        self._loop = loop

    def time(self):
        return 1_700_000_000.0 + self._loop.now

    def monotonic(self):
        return self._loop.now
