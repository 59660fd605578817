"""The prefilter's ranking is made when it is asked for, once."""

import asyncio

import pytest

from memsift_producer.fallback import Fallback
from memsift_schemas.result import Cause, RerankResult, Source

RANKING = RerankResult(job_id="j", ranking=(), source=Source.PREFILTER)


@pytest.fixture
def asked():
    return []


@pytest.fixture
def fallback(asked):
    def make():
        asked.append(1)
        return RANKING

    return Fallback(make)


def test_nobody_asks_and_nothing_is_made(fallback, asked):
    assert asked == []


def test_it_is_made_once(fallback, asked):
    assert fallback() is fallback() is RANKING
    fallback.because(Cause.DEADLINE)
    assert asked == [1]


def test_it_names_its_cause_and_forgets_it(fallback):
    assert fallback.because(Cause.EXPIRED).cause is Cause.EXPIRED
    assert fallback().cause is None


async def test_at_once_lets_others_have_their_turn(fallback):
    """Given two calls in a row that are not sent, then what else waits runs in between."""
    order = []
    asyncio.get_running_loop().call_soon(order.append, "other")
    assert (await fallback.at_once(Cause.CLOSED)).cause is Cause.CLOSED
    order.append("call")
    assert order == ["other", "call"]
