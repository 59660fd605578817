"""What every test may use: a real Valkey, a manual clock, jobs to send."""

import asyncio
import os
import signal
import uuid

import pytest
from hypothesis import HealthCheck, settings
from redis.asyncio import Redis

from tests.engine_fixtures import embedded_runtime
from tests.sglang_cpu.fixtures import sglang_process, sglang_server

__all__ = ["embedded_runtime", "sglang_process", "sglang_server"]

from memsift_ops.stack import Stack

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell's background job ignores it, and so would all that the tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile(
    "memsift", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("memsift")

OURS = ("MEMSIFT_", "PROMETHEUS_")
# The later a marker stands here, the later its tests run: a mistake shows in the first seconds.
SLOW_MARKERS = ("stack", "install", "engine", "monitoring", "clients", "deploy", "sglang", "browser")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Keep the random order among tests of the same speed, fast ones first."""

    def slowness(item):
        names = {marker.name for marker in item.iter_markers()}
        return max((at + 1 for at, name in enumerate(SLOW_MARKERS) if name in names), default=0)

    items.sort(key=slowness)


@pytest.fixture(autouse=True)
def settings_of_this_test_alone():
    """What a command wrote into the environment, such as a log level, is no other test's."""
    before = {name: value for name, value in os.environ.items() if name.startswith(OURS)}
    yield
    for name in [name for name in os.environ if name.startswith(OURS)]:
        if name not in before:
            del os.environ[name]
    os.environ.update(before)


@pytest.fixture(scope="session")
def valkey_url():
    """A real server without persistence, for the whole run."""
    with Stack("unused") as stack:
        yield stack.start_valkey()


@pytest.fixture
def queue():
    """A queue name that no other test has."""
    return f"test:{uuid.uuid4().hex[:12]}"


@pytest.fixture
async def redis(valkey_url):
    client = Redis.from_url(valkey_url)
    yield client
    await client.aclose()


class ManualClock:
    """Time that moves when a test says so."""

    def __init__(self, now=1_700_000_000.0):
        self.now = now

    def time(self):
        return self.now

    def monotonic(self):
        return self.now

    def advance(self, seconds):
        self.now += seconds


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def eventually():
    """Wait until a condition holds, at most a few seconds."""

    async def wait(condition, seconds=10.0):
        async with asyncio.timeout(seconds):
            while not condition():
                await asyncio.sleep(0.01)

    return wait
