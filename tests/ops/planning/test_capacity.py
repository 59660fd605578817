"""How many cards: the search, and what it cannot find."""

import math
from dataclasses import replace

import numpy as np
import pytest

from memsift_ops.errors import Refused
from memsift_ops.planning import capacity, hardware
from memsift_ops.planning.capacity import Tried, search
from memsift_ops.planning.request import variants
from memsift_ops.planning.simulate import Outcome
from tests.ops.planning.made_up import request


def outcome(cards, p99_ms, late=0.0):
    return Outcome(cards, 100, 0, np.full(100, p99_ms / 1e3), late, 0.0, 0.5, 1.0, 1.0)


@pytest.mark.parametrize("enough", [4, 5, 7, 23, 100])
def test_the_fewest_cards_that_are_enough_are_found(enough):
    tried = Tried(request(layout="naive"))
    asked = []

    def simulate_with(cards):
        asked.append(cards)
        return outcome(cards, 290 if cards >= enough else 310)

    search(tried, 300, simulate_with)
    assert tried.needed == enough
    assert len(asked) < 20


def test_late_calls_count_even_where_the_percentile_does_not_show_them():
    assert capacity.meets(outcome(1, 200), 300)
    assert not capacity.meets(outcome(1, 200, late=0.02), 300)
    assert not capacity.meets(outcome(1, 301), 300)


def test_a_target_below_a_call_alone_is_not_searched_for():
    tried = Tried(request(layout="naive", card=hardware.card("a10")))
    search(tried, 200, lambda _: pytest.fail("simulated in vain"))
    assert tried.needed is None
    assert "a first call takes 268 ms alone" in tried.why


def test_a_target_that_no_number_of_cards_meets_ends():
    tried = Tried(request(layout="naive"))
    search(tried, 300, lambda cards: outcome(cards, 400))
    assert tried.needed is None
    assert "do not bring p99 below 300 ms" in tried.why


def test_the_real_search_finds_a_number_at_which_one_less_is_not_enough():
    tried = Tried(request(layout="naive", affinity="random", jobs=10_000))
    search(tried, 300, lambda cards: tried.with_cards(cards, lambda _: None))
    least_work = tried.request.traffic.calls_per_s * 0.19
    assert least_work < tried.needed < 3 * least_work
    assert capacity.meets(tried.outcomes[tried.needed], 300)
    assert not capacity.meets(tried.with_cards(tried.needed - 1, lambda _: None), 300)


def test_a_million_calls_cost_what_the_cards_cost_that_day():
    asked = request(card=hardware.card("rtx4090").model_copy(update={"usd_per_hour": 0.5}))
    assert capacity.usd_per_million(asked, 3) == pytest.approx(0.5 * 24 * 3)
    assert capacity.usd_per_million(replace(asked, calls_per_day=1e8), 3) == pytest.approx(0.36)
    assert capacity.usd_per_million(request(card=hardware.card("a10")), 3) is None


def test_a_card_that_cannot_hold_the_model_is_refused_with_the_remedy():
    with pytest.raises(Refused, match=r"qwen3-8b with bf16 weights leaves room for .* --weights fp8 or int4"):
        request(
            card=hardware.card("rtx4090").model_copy(update={"memory_gb": 16}),
            model=hardware.model("qwen3-8b"),
        ).setup()


def test_each_variant_changes_one_thing():
    rows = variants(request())
    assert list(rows) == ["no reuse", "reuse", "affinity", "no reuse, fp8", "reuse, fp8", "affinity, fp8"]
    assert rows["affinity"] == request()
    assert next(iter(variants(request(weights="int4")))) == "as asked"


def test_affinity_and_fp8_raise_the_hit_ratio():
    hits = {}
    for name, asked in variants(request(jobs=10_000, think_s=20.0)).items():
        hits[name] = Tried(asked).with_cards(10, lambda _: None).hit_ratio
    assert hits["no reuse"] < 0.05
    assert hits["affinity"] > hits["reuse"] + 0.1
    assert hits["affinity, fp8"] > hits["affinity"] + 0.1


def test_the_room_in_the_cache_is_counted_down_to_nothing():
    small = request(card=hardware.card("rtx4090").model_copy(update={"memory_gb": 9.0}))
    assert small.room < 0
    assert math.isfinite(small.cold_ms())
