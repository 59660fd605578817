"""What prompts hold turn by turn, and that the quick sums of the simulator are those of the roofline."""

import pytest

from memsift_ops.planning import layouts
from memsift_ops.planning.layouts import LAYOUTS, Prompt
from memsift_ops.planning.roofline import Roofline

PROMPT = Prompt(instructions=80, memories=20, memory=100, new=2, conversation=280, question=40)


def test_a_deck_grows_and_shares_all_that_was_there():
    turns = layouts.turns("deck", PROMPT, 4)
    assert turns.asked.tolist() == [2_400, 2_600, 2_800, 3_000]
    assert turns.shared.tolist() == [0, 2_080, 2_280, 2_480]
    assert turns.kept.tolist() == turns.asked.tolist()


def test_a_deck_that_has_outgrown_its_labels_is_laid_anew():
    turns = layouts.turns("deck", Prompt(deck_max=24), 5)
    assert turns.asked.tolist() == [2_400, 2_600, 2_800, 2_400, 2_600]
    assert turns.shared.tolist() == [0, 2_080, 2_280, 80, 2_080]


def test_a_deck_without_new_memories_is_cached_whole():
    assert layouts.turns("deck", Prompt(new=0), 3).shared.tolist() == [0, 2_080, 2_080]


def test_naive_prompts_share_the_instructions_alone():
    assert layouts.turns("naive", PROMPT, 3).shared.tolist() == [0, 80, 80]


def test_likelihood_does_not_read_the_conversation():
    pointwise, likelihood = (layouts.turns(layout, PROMPT, 2) for layout in ("pointwise", "likelihood"))
    assert pointwise.asked[0] == 20 * (80 + 100 + 280 + 40)
    assert likelihood.asked[0] == 20 * (80 + 100 + 40)
    assert likelihood.rows == 20 * 40
    # Two of twenty are new; the instructions are computed once.
    assert likelihood.shared[1] == 80 + 18 * 100
    assert likelihood.computed[0] == 80 + 20 * 140
    assert likelihood.by_user


def test_a_runtime_that_keeps_whole_blocks_finds_whole_blocks():
    turns = layouts.turns("deck", PROMPT, 2, keeps_suffix=False, block=32)
    assert turns.shared.tolist() == [0, 2_080 // 32 * 32]
    assert turns.kept.tolist() == [-(-2_080 // 32) * 32, -(-2_280 // 32) * 32]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("part", [0.0, 0.3, 1.0])
def test_the_priced_table_says_what_the_roofline_says(layout, part):
    roofline = Roofline(1e-5, 1e-9, 2e-5, 0.0, 0.0, 0.0, per_prompt=1e-3)
    turns = layouts.turns(layout, PROMPT, 3)
    costs = turns.costs(roofline)
    hit = int(part * turns.shared[2])
    quick = costs.cold[2] - (costs.saved_by_token + costs.saved_by_square * hit) * hit
    assert quick == pytest.approx(roofline.seconds(turns.work(2, hit)))


def test_pairs_of_prompts_that_share_their_opening_count_it_once():
    turns = layouts.turns("pointwise", PROMPT, 1)
    opening, length = 80, 500
    every = [token + 1 for token in range(length)]  # each token sees itself and all before it
    pairs = sum(every[:opening]) + 20 * sum(every[opening:])
    assert turns.pairs[0] == pytest.approx(pairs, rel=0.003)


def test_pairs_of_a_deck_are_those_of_its_new_tokens_with_all_before_them():
    turns = layouts.turns("deck", PROMPT, 2)
    pairs = sum(range(2_081, 2_601))  # each new token sees itself and all before it
    assert turns.work(1, 2_080).pairs == pytest.approx(pairs, rel=0.001)
