"""Prompts on a paged model: whatever is cached, evicted, shared or cut, each token sees what stands before it."""

import numpy as np
import pytest
from hypothesis import given
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


def never():
    pass


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
        scores = scorer.score(batch, never)
        assert [score.logprobs for score in scores] == [expected(one) for one in batch]
        for one, score in zip(batch, scores, strict=True):
            assert 0 <= score.cached_tokens <= len(one.context)


@given(batch=st.lists(prompts, min_size=1, max_size=6), stop=st.integers(0, 8), step=st.integers(1, 9))
def test_an_abort_at_any_step_leaves_the_cache_right_and_loses_no_block(batch, stop, step):
    scorer = Scorer(PagedFake(12), step_tokens=step)
    left = iter(range(stop))

    def check():
        if next(left, None) is None:
            raise InterruptedError

    for _ in range(20):  # would run out of blocks if each abort lost some
        try:
            scorer.score(batch, check)
        except InterruptedError:
            left = iter(range(stop))
    assert [score.logprobs for score in scorer.score(batch, never)] == [expected(one) for one in batch]


@given(context=tokens.filter(bool), rest=st.lists(st.integers(0, 2), min_size=1, max_size=9))
def test_a_context_is_computed_once_to_its_last_token(context, rest):
    model = PagedFake(20)
    scorer = Scorer(model)
    (cold,) = scorer.score([prompt(context, rest)], never)
    done = len(model.steps)
    (warm,) = scorer.score([prompt(context, [5, *rest])], never)
    assert (cold.cached_tokens, warm.cached_tokens) == (0, len(context))
    assert model.steps[done:] == [len(rest) + 1]


def test_namespaces_share_nothing():
    scorer = Scorer(PagedFake(40))
    context = list(range(11))
    scorer.score([prompt(context, [1], "u")], never)
    (other, same) = scorer.score([prompt(context, [1], "v"), prompt(context, [1], "u")], never)
    assert (other.cached_tokens, same.cached_tokens) == (0, len(context))


def test_what_the_prompts_of_a_batch_begin_with_is_computed_once():
    model = PagedFake(80)
    beginning = list(range(8 * BLOCK))
    batch = [prompt([*beginning, 50 + at, 60, 61, 62], [1]) for at in range(5)]
    Scorer(model).score(batch, never)
    assert sum(model.steps) == len(beginning) + 5 * BLOCK + 5


def test_no_step_is_larger_than_allowed():
    model = PagedFake(80)
    scorer = Scorer(model, step_tokens=10)
    scorer.score([prompt(list(range(at, at + 21)), list(range(13))) for at in range(4)], never)
    assert max(model.steps) == 10


def test_what_was_used_longest_ago_goes_first():
    scorer = Scorer(PagedFake(12))
    old, kept, new = ([at] * 12 for at in range(3))
    for context in (old, kept, new, kept):
        scorer.score([prompt(context, [1])], never)
    scorer.score([prompt([9] * 12, [1])], never)
    (still,) = scorer.score([prompt(kept, [1])], never)
    (gone,) = scorer.score([prompt(old, [1])], never)
    assert still.cached_tokens == 12
    assert gone.cached_tokens < 12


def test_a_prompt_larger_than_the_cache_is_refused_and_the_next_one_works():
    scorer = Scorer(PagedFake(3))
    with pytest.raises(CacheTooSmall):
        scorer.score([prompt(list(range(20)), [1])], never)
    fits = prompt([1, 2, 3], [4])
    assert scorer.score([fits], never)[0].logprobs == expected(fits)


def test_tokens_behind_the_last_wanted_one_are_not_computed():
    model = PagedFake(10)
    Scorer(model).score([Prompt("u", [1, 2], [3, 4, 5], [(0, 4), (1, 5)])], never)
    assert model.steps == [2, 2]


def test_a_key_is_kept_once():
    cache = PrefixCache(4, BLOCK)
    (key,) = cache.keys("u", [1, 2])
    first, second = cache.take(2)
    cache.keep(key, first)
    with pytest.raises(ValueError, match="in use"):
        cache.keep(key, second)
