"""`memsift shadow`: numbers, a plain sentence, and a fresh start."""

import json

import pytest
from redis import Redis

from memsift_schemas.keys import shadow_key, shadow_tally_key
from memsift_workers.shadow import tally
from memsift_workers.shadow.agreement import agreement
from memsift_workers.shadow.tally import Pair

PAIR = Pair(("local", "m", "likelihood-1"), ("jev", "jev", ""))
NEXT = Pair(("local", "m", "likelihood-1"), ("local", "n", "likelihood-2"))


@pytest.fixture
def shadow(run, monkeypatch, valkey_url, queue):
    monkeypatch.setenv("MEMSIFT_REDIS_URL", valkey_url)
    monkeypatch.setenv("MEMSIFT_QUEUE", queue)
    return lambda *arguments: run("shadow", *arguments)


@pytest.fixture
def counted(valkey_url, queue):
    """Ten copies: four compared, one failed, one waits, four dropped."""
    key = shadow_tally_key(queue)
    with Redis.from_url(valkey_url) as client:
        pipeline = client.pipeline(transaction=False)
        tally.count(pipeline, key, tally.SENT, 10)
        tally.count(pipeline, key, tally.GAVE_WAY, 3)
        tally.fail(pipeline, key, "runtime_timeout")
        tally.fail(pipeline, key, tally.MISCONFIGURED)
        for other in ("abcd", "abcd", "abdc", "dcba"):
            found = agreement("abcd", other, top_k=3)
            tally.compare(pipeline, key, PAIR, found, live_ms=200.0, shadow_ms=4.0)
        tally.compare(pipeline, key, NEXT, agreement("ab", "ab", top_k=1), live_ms=None, shadow_ms=9.0)
        pipeline.lpush(shadow_key(queue), b"x")
        pipeline.execute()


def test_json_has_counts_agreement_and_times(shadow, counted):
    code, out, _ = shadow("report", "--json")
    found = json.loads(out)
    assert code == 0
    assert {name: found[name] for name in ("sent", "waiting", "dropped", "gave_way")} == {
        "sent": 10,
        "waiting": 1,
        "dropped": 3,
        "gave_way": 3,
    }
    assert found["failed"] == {"runtime_timeout": 1, "misconfigured": 1}
    first, _ = found["pairs"]
    assert (first["live"]["prompt_version"], first["shadow"]["ranker"], first["jobs"]) == (
        "likelihood-1",
        "jev",
        4,
    )
    assert first["agreement"]["first"]["mean"] == 0.75
    assert first["agreement"]["first"]["interval"] == pytest.approx([0.3006, 0.9544], abs=1e-3)
    assert first["agreement"]["tau"]["mean"] == pytest.approx((1 + 1 + 4 / 6 - 1) / 4)
    assert first["ms"]["live"]["p50"] == pytest.approx(200, rel=0.05)
    assert first["ms"]["shadow"]["p99"] == pytest.approx(4, rel=0.05)


def test_a_sentence_says_it_plainly(shadow, counted):
    code, out, _ = shadow("report")
    flat = " ".join(out.split())
    assert code == 0
    assert "jev puts the same memory first as local in 75% of 4 jobs (30% to 95%)" in flat
    # Where the rankers have one name, model and prompts tell them apart
    assert "local n likelihood-2 puts the same memory first as local m likelihood-1 in 100% of 1 jobs" in flat
    assert "of 10 copies 3 were dropped because workers were busy, 1 wait; failed: 1 misconfigured" in flat


def test_a_reset_begins_anew(shadow, counted):
    assert "begins anew" in shadow("reset")[1]
    assert "nothing to forget" in shadow("reset")[1]
    assert "set MEMSIFT_SHADOW_SHARE" in shadow("report")[1]


def test_without_redis_it_fails_with_the_remedy(run, monkeypatch):
    monkeypatch.setenv("MEMSIFT_REDIS_URL", "redis://127.0.0.1:1/0")
    for what in ("report", "reset"):
        code, _, err = run("shadow", what)
        assert (code, "MEMSIFT_REDIS_URL" in err) == (1, True)
