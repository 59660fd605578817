"""`memsift bench cache` and `memsift bench order` on the real engine, short."""

import json

import pytest
from click.testing import CliRunner

from memsift_ops.commands.bench import command

pytestmark = pytest.mark.engine


def run(*arguments):
    done = CliRunner().invoke(command, arguments, standalone_mode=False)
    assert done.exception is None, done.output
    return done


def test_a_deck_is_served_from_the_cache_and_a_naive_prompt_is_not():
    report = json.loads(run("cache", "--keep", "6", "--json").stdout)
    layouts = report["layouts"]
    assert set(layouts) == {"naive", "kind", "deck", "likelihood"}
    wanted = {"cached_share", "prefill_tokens_per_turn", "p50_ms_from_turn_2", "hit_at_3", "mrr"}
    assert all(wanted <= set(one) for one in layouts.values())
    assert layouts["deck"]["cached_share"] > layouts["naive"]["cached_share"] + 0.2
    assert layouts["deck"]["prefill_tokens_per_turn"] < layouts["kind"]["prefill_tokens_per_turn"]
    assert not report["deck"]["misses"]


def test_orders_are_told_for_each_conversation():
    shown = run("order", "--questions", "1", "--orders", "2").stdout
    assert shown.count("corrected") == 2


def test_a_set_without_its_folder_is_refused():
    done = CliRunner().invoke(command, ["cache", "--set", "locomo"])
    assert done.exit_code == 2
    assert "--data" in done.output
