"""One budget for all tries, and a server's word on when to come back is kept."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_workers.rankers.retrying import ATTEMPTS, Busy, Retrying, stated_wait
from memsift_workers.runtimes.base import RuntimeGarbage

NOW = datetime(2026, 3, 18, 9, 0, tzinfo=UTC)


class Server:
    """Raises these faults one after the other, then answers."""

    def __init__(self, *faults):
        self.faults, self.times = list(faults), []

    async def __call__(self):
        self.times.append(asyncio.get_running_loop().time())
        if self.faults:
            raise self.faults.pop(0)
        return "answer"


async def call(retrying, server, seconds=5.0):
    return await retrying.call(server, ends_at=asyncio.get_running_loop().time() + seconds)


async def test_what_passes_is_waited_out():
    server = Server(Busy("1"), Busy("2"))
    assert await call(Retrying(), server) == "answer"
    assert len(server.times) == 3


async def test_the_last_fault_is_told_when_no_try_is_left():
    server = Server(*(Busy(str(at)) for at in range(ATTEMPTS)))
    with pytest.raises(Busy, match=str(ATTEMPTS - 1)):
        await call(Retrying(), server)
    assert len(server.times) == ATTEMPTS


async def test_what_does_not_pass_is_not_tried_again():
    server = Server(RuntimeGarbage("odd"))
    with pytest.raises(RuntimeGarbage):
        await call(Retrying(), server)
    assert len(server.times) == 1


async def test_no_wait_outlasts_the_budget():
    server = Server(Busy("later", after=0.5))
    with pytest.raises(Busy):
        await call(Retrying(), server, seconds=0.4)
    assert len(server.times) == 1


async def test_the_servers_own_wait_holds_for_all_its_callers():
    retrying, busy, other = Retrying(), Server(Busy("later", after=0.2)), Server()
    with pytest.raises(Busy):
        await call(retrying, busy, seconds=0.1)
    with pytest.raises(Busy):
        await call(retrying, other, seconds=0.05)
    assert await call(retrying, other) == "answer"
    assert other.times[0] - busy.times[0] >= 0.2
    assert len(other.times) == 1


async def test_a_wait_of_nothing_is_no_busy_loop():
    server = Server(Busy("now", after=0.0), Busy("now", after=0.0))
    await call(Retrying(), server)
    assert server.times[1] > server.times[0] + 0.04


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "later"}, None),
        ({"retry-after": "Wed, 18 Mar 2026 09:00:30 GMT"}, 30.0),
        ({"retry-after": "Wed, 18 Mar 2026 08:00:00 GMT"}, 0.0),
    ],
)
def test_what_a_server_states(headers, seconds):
    assert stated_wait(headers, now=NOW) == seconds


def test_a_date_is_compared_with_the_systems_time():
    later = datetime.now(UTC) + timedelta(hours=1)
    stated = stated_wait({"retry-after": later.strftime("%a, %d %b %Y %H:%M:%S GMT")})
    assert 3_500 < stated <= 3_600


@given(st.text(), st.text())
def test_no_header_is_too_odd(one, other):
    stated = stated_wait({"retry-after-ms": one, "retry-after": other}, now=NOW)
    assert stated is None or stated >= 0
