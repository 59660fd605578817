"""From turns to numbers, against cases worked out by hand, and each number can be wrong."""

import pytest

from memsift_ops.cache_bench.meter import Count, Meter
from memsift_ops.cache_bench.orders import Ordered, ask
from memsift_ops.cache_bench.orders import summarise as of_orders
from memsift_ops.cache_bench.replay import Played
from memsift_ops.cache_bench.summary import summarise
from memsift_ops.datasets import Case
from memsift_schemas.deck_use import DeckUse, Miss
from memsift_workers.runtimes.base import Answer, Call, Labels
from memsift_workers.strategies.listwise import NOTHING, Listwise
from memsift_workers.strategies.templates import TEMPLATES
from tests.fakes import FakeRuntime
from tests.samples import NOW, job

LISTWISE = Listwise(TEMPLATES["chatml"], weight_en=1.0, weight_zh=1.0)


def turn(layout, number, ms, prompt, cached, *, session=0, ranking=("a", "b", "c", "d"), deck=None):
    count = Count(prompt=prompt + 40, cached=cached + 30, asked=prompt, asked_cached=cached)
    return Played(layout, session, "made", number, count, ms, 2 * ms, ranking, frozenset("a"), deck)


def played():
    use = DeckUse(
        turn=2, memories=4, stale=1, tokens=80, stale_tokens=20, expected_tokens=60, miss=Miss.EVICTED
    )
    found = []
    for layout, ms in (("naive", 30.0), ("kind", 30.0), ("deck", 10.0), ("likelihood", 15.0)):
        deck = use if layout == "deck" else None
        found += [turn(layout, 1, 500.0, 100, 0), turn(layout, 2, ms, 100, 80, deck=deck)]
        found += [
            turn(
                layout,
                2,
                ms / (2 if layout == "deck" else 1),
                300,
                270,
                session=1,
                ranking=("b", "a", "c", "d"),
            )
        ]
    return found


def test_numbers_are_of_the_second_turn_on_and_quality_of_all():
    found = summarise(played())
    deck = found["layouts"]["deck"]
    assert deck["cached_share"] == pytest.approx(350 / 400)
    assert deck["prefill_tokens_per_turn"] == pytest.approx((30 + 40) / 2)
    assert deck["prefill_tokens_first_turn"] == 110
    assert deck["p50_ms_from_turn_2"] == pytest.approx(7.5)
    assert deck["hit_at_3"] == 1.0
    assert deck["mrr"] == pytest.approx((1 + 1 + 0.5) / 3)
    assert found["deck"]["misses"] == {"evicted": 1}
    assert found["deck"]["stale_share"] == 0.25


def test_a_ratio_is_of_sums_and_its_spread_over_sessions():
    ratio = summarise(played())["naive_over"]["deck"]
    assert ratio == {"wall": 4.0, "cpu": 4.0, "least": 3.0, "most": 6.0}


async def test_the_meter_tells_the_question_from_the_pass_over_none():
    meter = Meter(FakeRuntime(rule=lambda call: Answer(prompt_tokens=10, cached_tokens=4)))
    labels = Labels(("A",))
    await meter.run([Call(("x",), "Where?", labels), Call(("x",), f"{NOTHING}Label:", labels)], timeout=5)
    assert meter.count == Count(prompt=20, cached=8, asked=10, asked_cached=4)


def biased(call):
    """Likes early labels, and the memory about the key when that is asked for."""
    lines = call.prefix[1 : 1 + len(call.wish.labels)]
    likes = [-0.7 * at for at in range(len(lines))]
    if NOTHING not in call.suffix:
        likes = [
            like + ("flowerpot" in line) * 2 + len(line) / 50 for like, line in zip(likes, lines, strict=True)
        ]
    return Answer(logprobs=tuple(likes))


async def ordered(rule):
    whole = job(6, prior=(0.0,) * 6)
    case = Case("q", "mara", whole.query, NOW, (), whole.candidates, frozenset({"m0"}))
    return await ask(
        [(case, whole)], FakeRuntime(rule=rule), LISTWISE, orders=4, seed=3, progress=lambda: None
    )


async def test_bias_that_is_taken_off_no_longer_moves_rankings():
    found = of_orders(await ordered(biased))
    assert found["corrected"]["rank_correlation"] == pytest.approx(1.0)
    assert found["corrected"]["mrr"] == 1.0
    assert found["bare"]["rank_correlation"] < 0.5
    assert found["bare"]["mrr"] < 1.0


async def test_a_model_whose_bias_the_null_question_does_not_show_stays_biased():
    def hidden(call):
        return Answer(logprobs=(-1.0,) * len(call.wish.labels)) if NOTHING in call.suffix else biased(call)

    assert of_orders(await ordered(hidden))["corrected"]["rank_correlation"] < 0.5


def test_overlap_and_correlation_by_hand():
    one = Ordered(frozenset("a"), (("a", "b", "c", "d"), ("d", "c", "b", "a")), (("a", "b", "c", "d"),) * 2)
    found = of_orders([one])
    assert found["bare"]["rank_correlation"] == pytest.approx(-1.0)
    assert found["bare"]["first_three_in_common"] == pytest.approx(2 / 3)
    assert found["corrected"] == {
        "mrr": 1.0,
        "rank_correlation": pytest.approx(1.0),
        "first_three_in_common": 1.0,
    }
