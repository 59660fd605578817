"""`memsift status`: what an operator sees, and what a probe gets as an exit code."""

import json
import time

import pytest
import redis as redis_module

from memsift_ops import group
from memsift_producer.breaker_state import BreakerState, Tally
from memsift_schemas import keys, message, wire
from memsift_schemas.job import RerankJob
from memsift_schemas.redis_link import connect
from memsift_schemas.settings import ProducerSettings
from tests.samples import NOW, memories


@pytest.fixture
def status(monkeypatch, capsys, valkey_url, queue):
    """Run it: exit code and what it printed."""
    monkeypatch.setenv("MEMSIFT_REDIS_URL", valkey_url)
    monkeypatch.setenv("MEMSIFT_QUEUE", queue)
    monkeypatch.setenv("MEMSIFT_DEADLINE_MS", "30000")

    def run(*arguments):
        code = group.run(("status", *arguments))
        return code, capsys.readouterr().out

    return run


@pytest.fixture
def server(valkey_url):
    with redis_module.Redis.from_url(valkey_url) as client:
        yield client


@pytest.fixture
def present(server, queue):
    """One worker."""
    card = {"ranker": "local", "model": "m", "jobs_per_s": 12.5}
    server.set(keys.worker_key(queue, "w1@host"), json.dumps(card), ex=60)


async def report(url, queue, tally, **more):
    client = connect(url, client_name="test", connections=1)
    await BreakerState(client, ProducerSettings(redis_url=url, queue=queue)).exchange(
        time.time(), tally, **more
    )
    await client.aclose()


def push(server, queue, waited=0.0, onto=None):
    sent = time.time() - waited
    job = RerankJob(
        id="j", query="where?", now=NOW, candidates=tuple(memories(2)), deadline=sent + 1, sent_at=sent
    )
    server.lpush(onto or queue, message.build(job, wire.encode_job(job), queue))


def test_what_a_worker_had_from_the_cache(status, server, queue):
    turns = {"prompt_tokens": 500, "cached_tokens": 400}
    by_cause = {
        "hit": {"turns": 7, **turns},
        "evicted": {"turns": 2, **turns},
        "no_deck": {"turns": 1, **turns},
    }
    cache = {"prompt_tokens": 1500, "cached_tokens": 1200, "by_cause": by_cause}
    card = {"ranker": "local", "model": "m", "cache": cache}
    server.set(keys.worker_key(queue, "w1@host"), json.dumps(card), ex=60)
    server.zadd(keys.workers_key(queue), {"w1@host": time.time()})
    _, said = status()
    assert "80% of its prompts cached (turns: 2 evicted)" in said


def test_all_is_well(status, present, queue):
    code, out = status("--json")
    assert code == 0
    assert json.loads(out) == {
        "healthy": True,
        "breaker": {
            "state": "closed",
            "reason": None,
            "since_s": None,
            "failures": 0,
            "opened": 0,
            "next_probe_s": None,
        },
        "queue": {"name": queue, "depth": 0, "oldest_s": None, "own": {}},
        "workers": {"w1@host": {"ranker": "local", "model": "m", "jobs_per_s": 12.5}},
        "troubles": [],
    }
    code, out = status()
    assert (code, "breaker  closed" in out, "w1@host: local, m, 12 jobs/s" in out) == (0, True, True)


def test_no_worker_is_trouble(status):
    code, out = status()
    assert code == 1
    assert "trouble  no worker is present" in out


async def test_an_open_breaker_is_trouble_and_a_probe_is_shown(status, present, valkey_url, queue):
    await report(valkey_url, queue, Tally(failed=[time.time()] * 10))
    code, out = status("--json")
    breaker = json.loads(out)["breaker"]
    assert (code, breaker["state"], breaker["reason"], breaker["failures"]) == (1, "open", "failures", 10)
    assert 0 < breaker["next_probe_s"] <= 1
    assert breaker["opened"] == 1
    assert breaker["since_s"] < 60
    assert "opened by failures" in status()[1]


async def test_a_probe_that_is_out_is_shown(status, present, server, valkey_url, queue):
    await report(valkey_url, queue, Tally(failed=[time.time()] * 10))
    server.hset(keys.breaker_key(queue), "next_probe", 0)
    await report(valkey_url, queue, Tally(), wanted="token", patience=60)
    assert json.loads(status("--json")[1])["breaker"]["state"] == "probing"


@pytest.mark.parametrize(("waited", "expected"), [(0.0, 0), (60.0, 1)])
def test_a_job_that_waits_for_too_long_is_trouble(status, present, server, queue, *, waited, expected):
    push(server, queue, waited)
    code, out = status("--json")
    found = json.loads(out)["queue"]
    assert (code, found["depth"]) == (expected, 1)
    assert waited <= found["oldest_s"] < waited + 30


def test_what_waits_for_one_runtime_counts_too(status, present, server, queue):
    for name, waited in (("a", 60.0), ("b", 0.0)):
        server.zadd(keys.own_lists_key(queue), {name: time.time()})
        push(server, queue, waited, onto=keys.own_key(queue, name))
    push(server, queue)
    code, out = status("--json")
    found = json.loads(out)["queue"]
    assert (code, found["depth"], found["own"]) == (1, 3, {"a": 1, "b": 1})
    assert 60 <= found["oldest_s"] < 90
    assert "of them for one runtime: 1, 1" in status()[1]


def test_a_full_queue_is_trouble_and_foreign_items_have_no_age(status, present, server, queue, monkeypatch):
    monkeypatch.setenv("MEMSIFT_QUEUE_MAX", "2")
    server.lpush(queue, "noise", "[]")
    code, out = status("--json")
    assert code == 1
    assert json.loads(out)["queue"] == {"name": queue, "depth": 2, "oldest_s": None, "own": {}}
    assert "the queue is full" in out


def test_without_redis_it_says_so_in_one_line(status, monkeypatch, capsys):
    monkeypatch.setenv("MEMSIFT_REDIS_URL", "redis://:hunter2@127.0.0.1:1/0")
    assert group.run(("status",)) == 1
    err = capsys.readouterr().err
    assert err.startswith("memsift: Redis does not answer (ConnectionError)")
    assert (err.count("\n"), "hunter2" in err) == (1, False)


def test_during_a_roll_it_shows_what_each_worker_asks(status, server, queue):
    for name, prompts in (("old", "likelihood-1"), ("new", "listwise-2")):
        card = {"ranker": "local", "model": "m", "prompt_version": prompts}
        server.set(keys.worker_key(queue, f"{name}@host"), json.dumps(card), ex=60)
    out = status()[1]
    assert "old@host: local, m, likelihood-1" in out
    assert "new@host: local, m, listwise-2" in out
