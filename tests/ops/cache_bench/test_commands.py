"""`memsift bench cache` and `memsift bench order` on the real engine, short."""

import json

import pytest

from memsift_ops.cache_bench import server_counts
from memsift_ops.cache_bench.running import _compared
from memsift_ops.errors import Failure
from tests.ops.cache_bench.test_numbers import turn


@pytest.mark.engine
def test_a_deck_is_served_from_the_cache_and_a_naive_prompt_is_not(run):
    code, out, _ = run("bench", "cache", "--keep", "6", "--json")
    assert code == 0
    report = json.loads(out)
    layouts = report["layouts"]
    assert set(layouts) == {"naive", "kind", "deck", "likelihood"}
    wanted = {"cached_share", "prefill_tokens_per_turn", "p50_ms_from_turn_2", "hit_at_3", "mrr"}
    assert all(wanted <= set(one) for one in layouts.values())
    assert layouts["deck"]["cached_share"] > layouts["naive"]["cached_share"] + 0.2
    assert layouts["deck"]["prefill_tokens_per_turn"] < layouts["kind"]["prefill_tokens_per_turn"]
    assert not report["deck"]["misses"]


@pytest.mark.engine
def test_orders_are_told_for_each_conversation(run):
    code, shown, _ = run("bench", "order", "--questions", "1", "--orders", "2")
    assert code == 0
    assert shown.count("corrected") == 2


@pytest.mark.parametrize("name", ["cache", "order"])
def test_a_set_without_its_folder_is_refused(run, name):
    code, _, said = run("bench", name, "--set", "locomo")
    assert code == 2
    assert "--data" in said


@pytest.mark.sglang
@pytest.mark.timeout(600)
def test_a_real_servers_own_counters_agree_with_ours(run, monkeypatch, sglang_server):
    monkeypatch.setenv("MEMSIFT_RUNTIME", "sglang")
    monkeypatch.setenv("MEMSIFT_SGLANG_URL", sglang_server)
    code, out, _ = run("bench", "cache", "--keep", "6", "--json")
    assert code == 0
    report = json.loads(out)
    assert report["server"]["server"]["cached_tokens"] > 0
    assert report["server"]["off_by"] < 0.01
    assert report["layouts"]["deck"]["cached_share"] > report["layouts"]["naive"]["cached_share"] + 0.2


def test_counters_that_disagree_are_told():
    played = [turn("deck", 2, 10.0, 960, 470)]
    assert _compared(played, {"prompt_tokens": 1000.0, "cached_tokens": 500.0})["off_by"] == 0.0
    assert _compared(played, {"prompt_tokens": 1000.0, "cached_tokens": 520.0})["off_by"] == 0.02
    assert _compared(played, {"prompt_tokens": 1250.0, "cached_tokens": 500.0})["off_by"] == 0.2


async def test_a_server_without_metrics_is_told_how_to_show_them():
    with pytest.raises(Failure, match="--enable-metrics"):
        await server_counts.read("http://127.0.0.1:1")
