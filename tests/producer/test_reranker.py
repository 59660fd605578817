"""Every path out of `rerank()` returns a ranking of the given memories, by the deadline."""

import asyncio
import math
import socket
import time
from datetime import datetime

import pytest

from memsift_producer import Reranker, SyncReranker
from memsift_producer.breaker_state import Reading
from memsift_schemas import Cause, InvalidInput, Ranked, RerankResult, SettingsError, Source, wire
from memsift_schemas.redis_link import end
from memsift_schemas.settings import ProducerSettings
from memsift_schemas.waiting import Waiting
from tests.samples import NOW, memories, memory

PLAIN = {"id": "a", "text": "xyzzy", "created_at": NOW}
ASK = {"query": "Where is the spare key to the cabin?", "now": NOW}


def ids_of(reranking):
    return sorted([place.id for place in reranking.result.ranking] + list(reranking.result.pruned))


async def test_the_models_ranking_is_returned_with_texts(reranker, worker):
    given_memories = memories(6)
    reranking = await reranker.rerank(memories=given_memories, user="mara", session="s", top_k=2, **ASK)
    assert (reranking.source, reranking.cause) == (Source.MODEL, None)
    assert ids_of(reranking) == [m.id for m in given_memories]
    best = [place.id for place in reranking.result.ranking[:2]]
    assert [m.id for m in reranking.memories()] == best
    assert reranking.texts() == [m.text for m in reranking.memories()]
    assert {"prefilter", "rank", "total"} <= set(reranking.result.timings_ms)
    assert reranking.fallback.source is Source.PREFILTER


async def test_the_job_carries_what_the_model_needs_and_no_embedding(reranker, worker):
    vectors = [memory(at, embedding=(1.0, float(at)), similarity=None) for at in range(4)]
    await reranker.rerank(
        memories=vectors,
        query_embedding=(1.0, 0.0),
        turns=[{"role": "user", "text": "hello"}],
        activity=["opened the calendar"],
        **ASK,
    )
    (job,) = worker.jobs
    assert all(m.embedding is None for m in job.candidates)
    assert len(job.prior) == len(job.candidates)
    assert (job.turns[0].text, job.activity, job.now) == ("hello", ("opened the calendar",), NOW)


async def test_mappings_are_memories_too(reranker, worker):
    plain = [{"id": "a", "text": "The key is under the pot.", "created_at": "2026-01-01T00:00:00Z"}]
    assert (await reranker.rerank(memories=plain, **ASK)).texts() == ["The key is under the pot."]


async def test_nothing_found_is_an_empty_ranking(reranker, worker):
    reranking = await reranker.rerank(memories=[], **ASK)
    assert (reranking.texts(), reranking.cause) == ([], Cause.NO_CANDIDATES)
    assert worker.jobs == []


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"query": " "}, "query"),
        ({"query": 7}, "query"),
        ({"memories": [memory(0), memory(0)]}, "memories"),
        ({"memories": memories(201)}, "memories"),
        ({"memories": [{**PLAIN, "created_at": "2026-01-01T00:00:00"}]}, "memories.0.created_at"),
        ({"memories": [{**PLAIN, "similarity": float("nan")}]}, "memories.0.similarity"),
        ({"deadline": 0}, "deadline"),
        ({"deadline": -1}, "deadline"),
        ({"deadline": float("nan")}, "deadline"),
        ({"deadline": 1e9}, "deadline"),
        ({"top_k": 0}, "top_k"),
        ({"now": datetime(2026, 1, 1)}, "now"),
        ({"user": ""}, "user"),
        ({"turns": [{"role": "narrator", "text": "xyzzy"}]}, "turns.0.role"),
    ],
)
async def test_a_wrong_argument_raises_at_once_and_says_where(reranker, worker, fields, place):
    with pytest.raises(InvalidInput) as caught:
        await reranker.rerank(**{"memories": memories(3), **ASK, **fields})
    assert str(caught.value).startswith(place)
    assert "xyzzy" not in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert worker.jobs == []


async def test_a_job_that_is_too_big_is_refused_at_the_door(valkey_url, queue):
    heavy = [memory(at, id=str(at), text=f"{at} heavy {at * 7919} words. " * 70) for at in range(200)]
    long_talk = [{"role": "user", "text": "word " * 380}] * 50
    async with Reranker.from_url(valkey_url, queue=queue, prefilter_keep=200) as reranker:
        with pytest.raises(InvalidInput, match="send fewer or shorter"):
            await reranker.rerank(memories=heavy, turns=long_talk, **ASK)


async def test_silence_ends_at_the_deadline_with_the_fallback(reranker, worker):
    worker.answer = lambda job: None
    started = time.monotonic()
    reranking = await reranker.rerank(memories=memories(6), deadline=0.2, **ASK)
    assert (reranking.source, reranking.cause) == (Source.PREFILTER, Cause.DEADLINE)
    assert reranking.result.ranking == reranking.fallback.ranking
    assert 0.2 <= time.monotonic() - started < 2
    assert len(reranking.texts()) == 3


async def test_a_refusal_falls_back_at_once_with_its_cause(reranker, worker):
    worker.answer = worker.refuse
    reranking = await reranker.rerank(memories=memories(6), **ASK)
    assert (reranking.source, reranking.cause) == (Source.PREFILTER, Cause.RUNTIME_GARBAGE)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda ids: ids[:-1],
        lambda ids: [*ids, ids[0]],
        lambda ids: [*ids[:-1], ids[0]],
        lambda ids: [*ids[:-1], "foreign"],
        lambda ids: [],
    ],
    ids=["missing", "twice", "twice and missing", "foreign", "empty"],
)
async def test_a_ranking_that_is_none_of_these_memories_is_not_returned(reranker, worker, spoil):
    def answer(job):
        ids = spoil([m.id for m in job.candidates])
        ranking = tuple(Ranked(id=one, score=0.0) for one in ids)
        return RerankResult(job_id=job.id, ranking=ranking, source=Source.MODEL)

    worker.answer = answer
    reranking = await reranker.rerank(memories=memories(6), **ASK)
    assert (reranking.source, reranking.cause) == (Source.PREFILTER, Cause.INVALID_REPLY)
    assert ids_of(reranking) == [f"m{at}" for at in range(6)]


async def test_noise_foreign_and_second_replies_are_dropped(reranker, worker, redis):
    def answer(job):
        return worker.reversed(job)

    worker.answer = answer
    name = reranker._parts.replies.name
    foreign = wire.encode_reply(RerankResult(job_id="foreign", ranking=(), source=Source.MODEL))
    await redis.rpush(name, b"\x00noise", foreign)
    first = await reranker.rerank(memories=memories(6), **ASK)
    await redis.rpush(name, wire.encode_reply(worker.refuse(worker.jobs[0])))
    second = await reranker.rerank(memories=memories(6), **ASK)
    assert first.source is second.source is Source.MODEL


async def test_thousands_of_calls_can_be_in_flight_and_get_their_own_answers(valkey_url, queue, worker):
    """Given two thousand at once, which keep this process busy for longer than an answer may take."""

    async def one(at):
        own = [memory(k, id=f"{at}-{k}", text=f"Note {k} of call {at} about the cabin.") for k in range(3)]
        reranking = await reranker.rerank(memories=own, deadline=60, **ASK)
        assert reranking.source is Source.MODEL
        assert ids_of(reranking) == [m.id for m in own]

    async with Reranker.from_url(valkey_url, queue=queue, breaker_p99_ms=60_000) as reranker:
        await asyncio.gather(*(one(at) for at in range(2_000)))
    assert len({job.reply_to for job in worker.jobs}) == 1


async def test_an_opening_that_is_given_up_leaves_nothing_running(queue):
    """Given a Redis that is away, when nobody waits for `open` any more, then `close` ends all the same."""
    others = asyncio.all_tasks()
    reranker = Reranker.from_url("redis://127.0.0.1:1/0", queue=queue)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reranker.open(), 0.1)
    assert asyncio.all_tasks() > others
    await reranker.close()
    assert asyncio.all_tasks() == others


async def test_closing_answers_all_that_is_in_flight(valkey_url, queue, eventually, redis):
    reranker = Reranker.from_url(valkey_url, queue=queue)
    await reranker.open()
    calls = [
        asyncio.create_task(reranker.rerank(memories=memories(4), deadline=60, **ASK)) for _ in range(50)
    ]
    await asyncio.sleep(0.2)
    await reranker.close()
    rerankings = await asyncio.wait_for(asyncio.gather(*calls), 5)
    assert {one.cause for one in rerankings} == {Cause.CLOSED}
    after = await reranker.rerank(memories=memories(4), **ASK)
    assert after.cause is Cause.CLOSED
    assert await redis.llen(queue) == 50


async def test_a_cancelled_call_leaves_nothing_behind(reranker, worker):
    worker.answer = lambda job: None
    call = asyncio.create_task(reranker.rerank(memories=memories(4), deadline=60, **ASK))
    await asyncio.sleep(0.1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert reranker._parts.replies._waiting == {}


async def test_without_redis_every_call_is_answered_by_the_prefilter(queue):
    async with Reranker.from_url("redis://127.0.0.1:1/0", queue=queue) as reranker:
        rerankings = await asyncio.gather(*(reranker.rerank(memories=memories(4), **ASK) for _ in range(20)))
    assert {one.cause for one in rerankings} == {Cause.REDIS_UNAVAILABLE}
    assert all(len(one.texts()) == 3 for one in rerankings)


async def test_a_server_that_takes_connections_and_never_answers_costs_no_more_than_the_deadline(queue):
    with socket.create_server(("127.0.0.1", 0)) as black_hole:
        url = f"redis://127.0.0.1:{black_hole.getsockname()[1]}/0"
        async with Reranker.from_url(url, queue=queue) as reranker:
            started = time.monotonic()
            reranking = await reranker.rerank(memories=memories(4), deadline=0.3, **ASK)
            assert time.monotonic() - started < 2
    assert reranking.cause is Cause.REDIS_UNAVAILABLE


async def test_a_full_redis_falls_back(valkey_url, redis, queue):
    async with Reranker.from_url(valkey_url, queue=queue) as reranker:
        await redis.config_set("maxmemory", "1")
        try:
            reranking = await reranker.rerank(memories=memories(4), deadline=2, **ASK)
        finally:
            await redis.config_set("maxmemory", "0")
    assert reranking.cause is Cause.REDIS_UNAVAILABLE


async def test_lost_connections_are_replaced(reranker, worker, redis):
    assert (await reranker.rerank(memories=memories(4), **ASK)).source is Source.MODEL
    for client in await redis.client_list():
        if client["name"] == "memsift-producer":
            await redis.client_kill_filter(_id=client["id"])
    assert (await reranker.rerank(memories=memories(4), **ASK)).source is Source.MODEL


async def test_the_deadline_is_on_the_servers_clock(valkey_url, queue, worker):
    class Ahead:
        def time(self):
            return time.time() + 3_600

        def monotonic(self):
            return time.monotonic()

    settings = ProducerSettings(redis_url=valkey_url, queue=queue)
    async with Reranker(settings, clock=Ahead()) as reranker:
        await reranker.rerank(memories=memories(4), deadline=5, **ASK)
    assert abs(worker.jobs[0].deadline - time.time() - 5) < 2


def test_a_wrong_url_is_refused_without_repeating_it():
    with pytest.raises(SettingsError, match="MEMSIFT_REDIS_URL") as caught:
        Reranker.from_url("http://user:hunter2@host")
    assert "hunter2" not in str(caught.value)


async def test_the_blocking_face_gives_the_same_answers(valkey_url, queue, worker):
    def ask():
        with SyncReranker.from_url(valkey_url, queue=queue, deadline_ms=5_000) as reranker:
            with pytest.raises(InvalidInput):
                reranker.rerank(memories=memories(3), query="")
            return [reranker.rerank(memories=memories(4), **ASK) for _ in range(3)]

    rerankings = await asyncio.to_thread(ask)
    assert {one.source for one in rerankings} == {Source.MODEL}


def test_the_blocking_face_must_be_open():
    with pytest.raises(RuntimeError, match="with SyncReranker"):
        SyncReranker.from_url("redis://127.0.0.1:1/0").rerank(memories=memories(1), **ASK)


@pytest.mark.parametrize("state", ["away", "open", "overloaded", "closed", "nothing to rank"])
async def test_a_tight_loop_of_calls_that_are_not_sent_leaves_others_their_turn(reranker, state):
    if state == "away":
        reranker.breaker.lost()
    elif state == "open":
        reranker.breaker.reading = Reading(open=True, next_probe=math.inf)
    elif state == "overloaded":
        reranker._parts.dispatch.admission.learn(Reading(queue=Waiting(1, 0.0), workers=("w",)))
    elif state == "closed":
        reranker._closed = True
    turns = 0

    async def other():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    given = [] if state == "nothing to rank" else memories(3)
    for _ in range(5):
        reranking = await reranker.rerank(query="Where?", memories=given)
        assert reranking.source is Source.PREFILTER
    await end([task])
    assert turns >= 5


async def test_a_call_whose_time_is_up_before_it_is_sent_is_late_not_overloaded(reranker, worker):
    reranking = await reranker.rerank(query="Where?", memories=memories(3), deadline=1e-9)
    assert reranking.cause is Cause.DEADLINE
    assert worker.jobs == []


def test_the_blocking_one_tells_when_the_breaker_changes(queue):
    changes = []
    settings = ProducerSettings(redis_url="redis://127.0.0.1:1/0", queue=queue)
    with SyncReranker(settings, on_breaker=changes.append):
        pass
    assert [(change.open, change.reason) for change in changes] == [(True, "redis")]
