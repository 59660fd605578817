"""Feedback comes later, from another process perhaps, and counts once, for whoever answered."""

import time

import pytest

from memsift_producer import FeedbackOutcome, Reranker, SyncReranker
from memsift_producer import feedback as feedback_module
from memsift_schemas import InvalidInput
from memsift_schemas.decision import Told
from memsift_schemas.hits import HOUR_S, Picked, Series, judged, summed
from memsift_schemas.keys import hits_key, picked_key
from tests.producer.decisions.test_decision_log import lines
from tests.samples import memories

TTL_S = 60


@pytest.fixture
def opened(valkey_url, queue):
    def make(**settings):
        told = {"queue": queue, "deadline_ms": 5_000, "feedback_ttl_s": TTL_S, **settings}
        return Reranker.from_url(valkey_url, **told)

    return make


def answer_as(worker, ranker, prompt):
    update = {"ranker": ranker, "model": "m", "prompt_version": prompt}
    worker.answer = lambda job: worker.reversed(job).model_copy(update=update)


async def ask(reranker, **more):
    asked = {"query": "key?", "memories": memories(6), "user": "mara", "session": "s", **more}
    return (await reranker.rerank(**asked)).result


async def counted(redis, queue):
    hour = int(time.time() // HOUR_S)
    hours = {at: await redis.hgetall(hits_key(queue, at)) for at in (hour - 1, hour, hour + 1)}
    return {
        (series.ranker, series.prompt_version): dict(hits.counts) for series, hits in summed(hours).items()
    }


async def test_another_process_counts_it_for_who_answered(opened, worker, redis, queue):
    answer_as(worker, "local", "p-1")
    async with opened() as asking:
        result = await ask(asking)
        fallback = await ask(asking, deadline=0.000_001)
    # Given a process that never saw the call
    async with opened() as telling:
        outcome = await telling.feedback(result.job_id, used=[result.selected[0]], missed=["elsewhere"])
        assert outcome is FeedbackOutcome.COUNTED
        assert await telling.feedback(fallback.job_id, used=[fallback.selected[1]]) == "counted"
    assert await counted(redis, queue) == {
        ("local", "p-1"): {"told": 1, "right": 1, "any": 1},
        ("prefilter", ""): {"told": 1, "right": 1, "any": 1, "all": 1},
    }


async def test_it_counts_once_and_only_as_long_as_the_call_is_remembered(opened, worker, redis, queue):
    async with opened() as reranker:
        result = await ask(reranker)
        outcomes = [await reranker.feedback(result.job_id, used=["m1"]) for _ in range(3)]
        assert outcomes == ["counted", "unknown", "unknown"]
        assert await reranker.feedback("never-asked", used=["m1"]) == "unknown"
        await ask(reranker)
        await reranker.feedback.flush()
    (key,) = [key async for key in redis.scan_iter(picked_key(queue, "*"))]
    assert 0 < await redis.ttl(key) <= TTL_S


async def test_what_redis_holds_of_a_call_is_ids_alone(opened, worker, redis, queue):
    async with opened() as reranker:
        await ask(reranker, query="xyzzy-private?", user="xyzzy-user")
        await reranker.feedback.flush()
    (key,) = [key async for key in redis.scan_iter(picked_key(queue, "*"))]
    raw = await redis.get(key)
    assert b"xyzzy" not in raw
    assert len(Picked.read(raw).ids) == 3
    assert len(raw) < 200


async def test_one_user_cannot_tell_of_anothers_call(opened, worker, tmp_path):
    async with opened(decision_log=str(tmp_path)) as reranker:
        result = await ask(reranker)
        assert await reranker.feedback(result.job_id, used=["m1"], user="jonas") == "unknown"
        assert await reranker.feedback(result.job_id, used=["m2"], user="mara") == "counted"
    told = [line for line in lines(tmp_path) if isinstance(line, Told)]
    assert [line.used for line in told] == [("m2",)]


async def test_without_the_setting_nothing_is_kept_and_the_log_still_takes_it(
    opened, worker, redis, queue, tmp_path
):
    async with opened(feedback_ttl_s=0, decision_log=str(tmp_path)) as reranker:
        result = await ask(reranker)
        assert await reranker.feedback(result.job_id, used=["m1"], missed=["m9"]) is FeedbackOutcome.OFF
    told = [line for line in lines(tmp_path) if isinstance(line, Told)]
    assert [(line.job, line.used, line.missed) for line in told] == [(result.job_id, ("m1",), ("m9",))]
    assert [key async for key in redis.scan_iter(f"{queue}:picked*")] == []
    assert await counted(redis, queue) == {}


async def test_without_redis_it_raises_nothing():
    async with Reranker.from_url("redis://127.0.0.1:1/0", feedback_ttl_s=60) as reranker:
        result = await ask(reranker)
        assert await reranker.feedback(result.job_id, used=["m1"]) is FeedbackOutcome.UNAVAILABLE
        assert reranker.feedback.forgotten == 1


async def test_what_waits_for_a_redis_that_is_away_is_bounded(monkeypatch):
    monkeypatch.setattr(feedback_module, "MOST_WAITING", 2)
    async with Reranker.from_url("redis://127.0.0.1:1/0", feedback_ttl_s=60) as reranker:
        monkeypatch.setattr(feedback_module, "FLUSH_EVERY_S", 60)
        for _ in range(5):
            await ask(reranker)
        assert reranker.feedback.forgotten >= 3


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        ({"used": ["a\n"]}, "used"),
        ({"used": "m1"}, "used: must be a list"),
        ({"missed": [""]}, "missed"),
        ({"used": [f"m{at}" for at in range(201)]}, "used: must be a list of at most 200"),
        ({"job_id": ""}, "job_id"),
        ({"user": " "}, "user"),
    ],
)
async def test_what_is_wrong_is_told_at_the_door(opened, wrong, place):
    async with opened() as reranker:
        with pytest.raises(InvalidInput, match=place):
            await reranker.feedback(**{"job_id": "j", **wrong})


def test_threads_can_tell_too(valkey_url, queue):
    with SyncReranker.from_url(valkey_url, queue=queue, feedback_ttl_s=60, deadline_ms=50) as reranker:
        result = reranker.rerank(query="key?", memories=memories(4)).result
        assert reranker.feedback(result.job_id, used=[result.selected[0]]) is FeedbackOutcome.COUNTED


@pytest.mark.parametrize(
    ("used", "missed", "whats"),
    [
        ([], [], ["told"]),
        (["a"], [], ["told", "right", "any", "all"]),
        (["a", "b"], [], ["told", "right", "any", "all"]),
        (["a", "x"], [], ["told", "right", "any"]),
        (["a"], ["x"], ["told", "right", "any"]),
        ([], ["x"], ["told", "right"]),
        (["x"], [], ["told", "right"]),
    ],
)
def test_a_hit_is_what_is_said_to_be_one(used, missed, whats):
    assert judged(("a", "b", "c"), used=used, missed=missed) == whats


def test_counts_of_hours_add_up_and_nonsense_is_passed_over():
    one, other = Series("local", "m", "p-1"), Series("jev", "jev", "")
    hours = {
        1: {one.field("told"): b"2", other.field("any"): b"1", b"noise": b"1", b'["a","b","c","new"]': b"1"},
        2: {one.field("told"): b"3", one.field("right"): b"x"},
    }
    found = summed(hours)
    assert list(found) == [other, one]
    assert (found[one]["told"], found[one]["right"], found[other]["any"]) == (5, 0, 1)
