"""The liar's replies go where the caller reads them, and what is spoiled on purpose is no ranking."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_ops.chaos import liar, sent
from memsift_schemas import message, wire
from memsift_schemas.errors import InvalidInput
from memsift_schemas.result import RerankResult

IDS = {f"a0-1.{at}" for at in range(sent.CANDIDATES)}
RAW = sent.build("a0-1", queue="q", secret="s", reply_to="mine", seconds=5)


def is_ranking(raw):
    try:
        reply = wire.decode_reply(raw)
    except InvalidInput:
        return False
    ids = [place.id for place in reply.ranking] if isinstance(reply, RerankResult) else []
    return len(ids) == len(IDS) and set(ids) == IDS and reply.job_id == "a0-1"


@given(st.integers(0, 10_000))
def test_a_lie_goes_to_the_callers_list_and_a_good_reply_may_follow(seed):
    way, reply_to, replies = liar.answer(RAW, random.Random(seed))
    assert reply_to == "mine"
    assert way in {one.__name__ for one in liar.WAYS}
    assert 1 <= len(replies) <= 2
    assert all(is_ranking(good) for good in replies[1:])


@pytest.mark.parametrize("way", [liar.missing, liar.twice, liar.foreign, liar.refusal, liar.truncated])
@given(seed=st.integers(0, 10_000))
def test_what_is_spoiled_on_purpose_is_no_ranking(way, seed):
    chance = random.Random(seed)
    good = liar.good(wire.load_job(message.read(RAW).job), chance)
    assert is_ranking(good)
    assert not is_ranking(way(chance, good))
