"""What is left out of a prompt, how it travels, and that replies of older workers can still be read."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from memsift_schemas import InvalidInput, Ranked, RerankResult, Source, wire
from memsift_schemas.result import select
from tests.samples import job

relevances = st.lists(st.none() | st.floats(0, 1), max_size=12)


def ranking(relevance):
    return tuple(Ranked(id=f"m{at}", score=-at, relevance=one) for at, one in enumerate(relevance))


@given(relevances, st.integers(1, 12), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_demand_never_lets_more_in(relevance, top_k, one, other):
    places = ranking(relevance)
    lax = select(places, top_k=len(places), min_relevance=min(one, other))
    strict = select(places, top_k=len(places), min_relevance=max(one, other))
    assert set(strict) <= set(lax)
    assert (
        select(places, top_k=top_k, min_relevance=one)
        == select(places, top_k=len(places), min_relevance=one)[:top_k]
    )


@given(relevances)
def test_nothing_is_left_out_by_default_and_what_is_unknown_never(relevance):
    places = ranking(relevance)
    ids = tuple(place.id for place in places)
    assert select(places, top_k=99, min_relevance=0.0) == ids
    unknown = {place.id for place in places if place.relevance is None}
    assert unknown <= set(select(places, top_k=99, min_relevance=1.0))


def test_the_next_one_that_is_relevant_enough_takes_the_place():
    assert select(ranking([0.9, 0.1, 0.8, 0.7]), top_k=2, min_relevance=0.5) == ("m0", "m2")
    assert select(ranking([0.5]), top_k=2, min_relevance=0.5) == ("m0",)
    assert select(ranking([0.1, 0.2]), top_k=2, min_relevance=0.5) == ()


def test_all_of_it_survives_the_wire():
    result = RerankResult(
        job_id="j",
        ranking=(Ranked(id="a", score=1, evidence=-2.5, relevance=0.0), Ranked(id="b", score=0)),
        source=Source.MODEL,
        selected=(),
    )
    read = wire.decode_reply(wire.encode_reply(result))
    assert read == result
    # An abstention is not a worker that says nothing.
    assert read.selected == ()
    whole = job(min_relevance=0.25)
    assert wire.load_job(orjson.loads(wire.encode_job(whole))) == whole


def test_a_reply_of_an_older_worker_says_nothing_of_it():
    old = b'{"v":1,"result":{"job_id":"j","ranking":[{"id":"a","score":1.0}],"source":"model"}}'
    read = wire.decode_reply(old)
    assert (read.selected, read.ranking[0].evidence, read.ranking[0].relevance) == (None, None, None)


@pytest.mark.parametrize("relevance", [1.01, -0.01])
def test_a_relevance_that_is_no_probability_is_refused(relevance):
    with pytest.raises(ValidationError):
        Ranked(id="a", score=1, relevance=relevance)
    raw = orjson.dumps({**wire.dump_job(job()), "min_relevance": relevance})
    with pytest.raises(InvalidInput, match="min_relevance"):
        wire.load_job(orjson.loads(raw))
