"""Counts and sums go into Redis and come back; percentiles are known to 5%."""

import random

import pytest

from memsift_workers.shadow import tally
from memsift_workers.shadow.agreement import agreement
from memsift_workers.shadow.tally import Pair

PAIR = Pair(("local", "m", "likelihood-1"), ("jev", "jev", ""))


async def test_what_is_written_is_read(redis, queue):
    same = agreement("abc", "abc", top_k=2)
    turned = agreement("abc", "cba", top_k=2)
    pipeline = redis.pipeline(transaction=False)
    for found in (same, same, turned):
        tally.compare(pipeline, queue, PAIR, found, live_ms=200.0, shadow_ms=5.0)
    tally.compare(pipeline, queue, PAIR, turned, live_ms=None, shadow_ms=5.0)
    tally.count(pipeline, queue, tally.SENT, 7)
    tally.fail(pipeline, queue, "ranker_error")
    await pipeline.execute()
    await redis.hset(queue, mapping={b"noise": b"1", b'["a"]': b"x", b'["a", 3]': b"1", b"[1]": b"1"})
    read = tally.read(await redis.hgetall(queue))
    assert (read.counts, read.failed, list(read.pairs)) == ({"sent": 7}, {"ranker_error": 1}, [PAIR])
    compared = read.pairs[PAIR]
    assert (compared.jobs, compared.mean("first"), compared.mean("tau")) == (4, 0.5, 0.0)
    assert compared.half_width("tau") == pytest.approx(1.96 * 0.5)
    assert compared.percentile("live_ms", 0.5) == pytest.approx(200, rel=0.05)
    assert sum(compared.buckets["live_ms"].values()) == 3
    assert 0 < await redis.ttl(queue) <= tally.KEPT_S


def test_percentiles_are_known_to_five_percent():
    rolls = random.Random(4)
    values = sorted(rolls.lognormvariate(3, 1) for _ in range(5_000))
    compared = tally.Compared()
    buckets = compared.buckets.setdefault("shadow_ms", {})
    for value in values:
        buckets[tally.bucket(value)] = buckets.get(tally.bucket(value), 0) + 1
    for share in (0.5, 0.95, 0.99):
        exact = values[int(share * len(values)) - 1]
        assert compared.percentile("shadow_ms", share) == pytest.approx(exact, rel=0.051)
    assert compared.percentile("live_ms", 0.5) is None
