"""`memsift hits`: the hit rate by who answered, with how sure it is."""

import json
import time

import pytest
from redis import Redis

from memsift_ops import hits, metrics
from memsift_schemas.hits import HOUR_S, Series
from memsift_schemas.keys import hits_key

OLD, NEW = Series("local", "m", "likelihood-1"), Series("local", "m", "likelihood-2")


@pytest.fixture
def show(run, monkeypatch, valkey_url, queue):
    monkeypatch.setenv("MEMSIFT_REDIS_URL", valkey_url)
    monkeypatch.setenv("MEMSIFT_QUEUE", queue)
    return lambda *arguments: run("hits", *arguments)


@pytest.fixture
def count(valkey_url, queue):
    def count(series, ago_h, **counts):
        with Redis.from_url(valkey_url) as client:
            hour = int(client.time()[0] // HOUR_S) - ago_h
            client.hset(hits_key(queue, hour), mapping={series.field(what): n for what, n in counts.items()})

    return count


def test_rates_are_by_ranker_and_prompts_with_their_intervals(show, count):
    count(OLD, 0, told=110, right=100, any=80, all=60)
    count(OLD, 1, told=10, right=10, any=8, all=6)
    count(NEW, 0, told=4, right=4, any=4, all=2)
    count(OLD, 30, told=1000, right=1000, any=0, all=0)
    code, out, _ = show("--json")
    found = {one["prompt_version"]: one for one in json.loads(out)["series"]}
    assert code == 0
    assert (found["likelihood-1"]["told"], found["likelihood-1"]["any_rate"]) == (120, pytest.approx(0.8))
    low, high = found["likelihood-1"]["any_interval"]
    assert low == pytest.approx(0.7158, abs=1e-3)
    assert high == pytest.approx(0.8640, abs=1e-3)
    assert found["likelihood-2"]["all_rate"] == 0.5
    assert len(json.loads(out)["hours"]) == 3
    printed = show()[1]
    assert "likelihood-1" in printed
    assert "80.0%" in printed.replace("\n", "")
    # Two days hold the bad old hour too
    old = json.loads(show("--json", "--since", "2d")[1])["series"][0]
    assert old["any_rate"] == pytest.approx(88 / 1110)


def test_without_feedback_it_says_what_to_set(show, count):
    assert "MEMSIFT_FEEDBACK_TTL_S" in show()[1]
    count(OLD, 0, told=3)
    found = json.loads(show("--json")[1])["series"][0]
    assert (found["told"], found["any_rate"], found["any_interval"]) == (3, None, None)
    assert show()[0] == 0


@pytest.mark.parametrize("since", ["", "24", "0h", "36d", "-1h", "1w"])
def test_a_span_that_is_none_is_refused(show, since):
    code, _, err = show("--since", since)
    assert (code, "24h or 7d" in err) == (2, True)


def test_without_redis_it_fails_with_the_remedy(run, monkeypatch):
    monkeypatch.setenv("MEMSIFT_REDIS_URL", "redis://127.0.0.1:1/0")
    code, _, err = run("hits")
    assert (code, "MEMSIFT_REDIS_URL" in err) == (1, True)


def test_hours_are_whole_and_the_first_is_in(valkey_url, queue, count):
    count(OLD, 23, told=1)
    count(OLD, 24, told=1)
    with Redis.from_url(valkey_url) as client:
        read = hits.read_by(client, queue, now_s=time.time(), since_s=86_400)
    assert read.series[OLD]["told"] == 1


@pytest.mark.parametrize(
    ("hits_", "of", "expected"),
    # R: prop.test(k, n, correct = FALSE)
    [(8, 10, (0.4902, 0.9433)), (0, 10, (0.0, 0.2775)), (10, 10, (0.7225, 1.0)), (1, 1, (0.2065, 1.0))],
)
def test_wilsons_interval(hits_, of, expected):
    assert metrics.wilson_interval(hits_, of) == pytest.approx(expected, abs=1e-4)
