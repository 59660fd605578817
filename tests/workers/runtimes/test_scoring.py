"""Prompts on a paged model: whatever is cached, evicted or shared, each token sees all that is before it."""

import contextlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsift_workers.runtimes.prefix_cache import CacheTooSmall, PrefixCache
from memsift_workers.runtimes.scoring import Prompt, Scorer

BLOCK = 4


def predicted(context, token):
    """A number that only this token after exactly this context has, near enough."""
    return -float(np.float32(hash((*context, -1, token)) % 100_003))


class PagedFake:
    """Keeps the tokens themselves in its blocks and answers from what it reads back there."""

    block_size = BLOCK

    def __init__(self, blocks):
        self.blocks = blocks
        self.memory = np.full((blocks, BLOCK), -1, np.int64)
        self.steps = []

    def forward(self, slices):
        self.steps.append(sum(len(one.tokens) for one in slices))
        for one in slices:
            for at, token in enumerate(one.tokens, start=one.past):
                self.memory[one.blocks[at // BLOCK], at % BLOCK] = token
        values = []
        for one in slices:
            seen = self.memory[list(one.blocks)].ravel().tolist()
            values += [predicted(seen[: one.past + at + 1], token) for at, token in one.wanted]
        return np.array(values, np.float32)

    def copy(self, sources, targets):
        self.memory[list(targets)] = self.memory[list(sources)]


def prompt(context, rest, namespace="u"):
    """Everything after the first token of `rest` is scored, and one more token after its end."""
    return Prompt(namespace, context, rest, list(enumerate([*rest[1:], 7])))


def expected(one):
    return tuple(predicted([*one.context, *one.rest[: at + 1]], token) for at, token in one.wanted)


class Stop(Exception):
    """Raised by a check that has had enough."""


def after(steps):
    """A check that passes so many times; None passes always."""
    left = iter(range(steps)) if steps is not None else None

    def check():
        if left is not None and next(left, None) is None:
            raise Stop

    return check


# Few different tokens, so that many prompts begin alike.
tokens = st.lists(st.integers(0, 2), max_size=14)
prompts = st.builds(
    prompt, tokens, st.lists(st.integers(0, 2), min_size=1, max_size=9), st.sampled_from(["u", "v"])
)


@given(
    batches=st.lists(st.lists(prompts, max_size=6), max_size=6),
    blocks=st.integers(7, 40),
    step=st.integers(1, 30),
)
def test_every_score_is_that_of_the_whole_prompt(batches, blocks, step):
    scorer = Scorer(PagedFake(blocks), step_tokens=step)
    for batch in batches:
        scores = scorer.score(batch, after(None))
        assert [score.logprobs for score in scores] == [expected(one) for one in batch]
        for one, score in zip(batch, scores, strict=True):
            assert 0 <= score.cached_tokens <= len(one.context)


@settings(max_examples=300)
@given(
    batches=st.lists(
        st.tuples(st.lists(prompts, max_size=5), st.none() | st.integers(0, 4)), min_size=4, max_size=12
    ),
    blocks=st.integers(7, 14),
    step=st.integers(1, 20),
)
def test_aborts_at_any_step_leave_the_cache_right_and_lose_no_block(batches, blocks, step):
    scorer = Scorer(PagedFake(blocks), step_tokens=step)
    for batch, steps in batches:
        with contextlib.suppress(Stop):
            scores = scorer.score(batch, after(steps))
            assert [score.logprobs for score in scores] == [expected(one) for one in batch]
    whole = prompt([5] * ((blocks - 1) * BLOCK), [5])
    assert scorer.score([whole], after(None))[0].logprobs == expected(whole)


def test_what_an_aborted_batch_has_computed_may_be_evicted_and_computed_again():
    scorer = Scorer(PagedFake(12))
    short, long, pair = [1] * 8, [1] * 8 + [2] * 8, [4] * 4
    scorer.score([prompt(short, [1])], after(None))
    with pytest.raises(Stop):  # once the first two are there, before the third, which builds on the second
        scorer.score([prompt(long, [1]), prompt(pair, [1]), prompt([*pair, 4], [1])], after(1))
    # Takes one block of the short one, and gives back three.
    scorer.score([prompt([3] * 20, [1] * 12)], after(None))
    (again,) = scorer.score([prompt(long, [1])], after(None))
    assert again.logprobs == expected(prompt(long, [1]))


@given(context=tokens.filter(bool), rest=st.lists(st.integers(0, 2), min_size=1, max_size=9))
def test_a_context_is_computed_once_to_its_last_token(context, rest):
    model = PagedFake(20)
    scorer = Scorer(model)
    (cold,) = scorer.score([prompt(context, rest)], after(None))
    done = len(model.steps)
    (warm,) = scorer.score([prompt(context, [5, *rest])], after(None))
    assert (cold.cached_tokens, warm.cached_tokens) == (0, len(context))
    assert model.steps[done:] == [len(rest) + 1]


def test_namespaces_share_nothing():
    scorer = Scorer(PagedFake(40))
    context = list(range(11))
    scorer.score([prompt(context, [1], "u")], after(None))
    (other, same) = scorer.score([prompt(context, [1], "v"), prompt(context, [1], "u")], after(None))
    assert (other.cached_tokens, same.cached_tokens) == (0, len(context))


def test_what_the_prompts_of_a_batch_begin_with_is_computed_once():
    model = PagedFake(80)
    beginning = list(range(8 * BLOCK))
    batch = [prompt([*beginning, 50 + at, 60, 61, 62], [1]) for at in range(5)]
    Scorer(model).score(batch, after(None))
    assert sum(model.steps) == len(beginning) + 5 * BLOCK + 5


def test_no_step_is_larger_than_allowed():
    model = PagedFake(80)
    scorer = Scorer(model, step_tokens=10)
    scorer.score([prompt(list(range(at, at + 21)), list(range(13))) for at in range(4)], after(None))
    assert max(model.steps) == 10


def test_what_was_used_longest_ago_goes_first():
    scorer = Scorer(PagedFake(12))
    old, kept, new = ([at] * 12 for at in range(3))
    for context in (old, kept, new, kept):
        scorer.score([prompt(context, [1])], after(None))
    scorer.score([prompt([9] * 12, [1])], after(None))
    (still,) = scorer.score([prompt(kept, [1])], after(None))
    (gone,) = scorer.score([prompt(old, [1])], after(None))
    assert still.cached_tokens == 12
    assert gone.cached_tokens < 12


def test_what_a_batch_finds_in_the_cache_is_not_evicted_by_the_same_batch():
    scorer = Scorer(PagedFake(8))
    known = [1] * 12
    scorer.score([prompt(known, [1])], after(None))
    scorer.score([prompt([2] * 12, [1])], after(None))
    fresh, found = scorer.score([prompt([3] * 12, [1]), prompt(known, [1])], after(None))
    assert (fresh.cached_tokens, found.cached_tokens) == (0, 12)


def test_a_prompt_larger_than_the_cache_is_refused_and_the_next_one_works():
    scorer = Scorer(PagedFake(3))
    with pytest.raises(CacheTooSmall):
        scorer.score([prompt(list(range(20)), [1])], after(None))
    fits = prompt([1, 2, 3], [4])
    assert scorer.score([fits], after(None))[0].logprobs == expected(fits)


def test_tokens_behind_the_last_wanted_one_are_not_computed():
    model = PagedFake(10)
    Scorer(model).score([Prompt("u", [1, 2], [3, 4, 5], [(0, 4), (1, 5)])], after(None))
    assert model.steps == [2, 2]


def test_a_key_is_kept_once():
    cache = PrefixCache(4, BLOCK)
    chain = cache.keys("u", [1, 2])
    cache.keep(chain, cache.take(1))
    with pytest.raises(ValueError, match="kept"):
        cache.keep(chain, cache.take(1))
