"""What a prompt holds, turn by turn, and how much of it the turn before has left in the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from memsift_ops.planning.roofline import Roofline, Work

Layout = Literal["naive", "deck", "pointwise", "likelihood"]
LAYOUTS: tuple[Layout, ...] = ("naive", "deck", "pointwise", "likelihood")
Tokens = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Prompt:
    """Sizes in tokens. 80 + 20 x 100 + 280 + 40 are the design's prompt of 2,400.

    Attributes:
        instructions: before the memories.
        memories: in the first turn's prompt; `naive`, `pointwise` and `likelihood` have as many in each.
        memory: one memory.
        new: memories of a turn that the turn before did not have.
        conversation: what was said before; `likelihood` does not read it.
        question: the user's latest message and what comes after it.
        deck_max: a deck that would outgrow so many memories is laid anew: `MEMSIFT_DECK_TOKENS` over the
            tokens of a memory. The longer a deck, the longer takes a call that finds it evicted: on a 4090
            297 ms for 30 memories and 393 for 40, with the 8 ms in which a batch fills.
    """

    instructions: int = 80
    memories: int = 20
    memory: int = 100
    new: int = 2
    conversation: int = 280
    question: int = 40
    deck_max: int = 30


@dataclass(frozen=True, slots=True)
class Turns:
    """What the calls of a session hold, by the number of their turn, from 0.

    Attributes:
        by_user: whether later sessions of the same user find what earlier ones left.
        prompts: in one call.
        asked: tokens of all prompts together, as runtimes count them.
        computed: tokens that are computed when nothing is cached; less than `asked`, where the prompts of one
            call share a beginning.
        shared: tokens that may be cached, at most.
        kept: tokens in the cache afterwards.
        rows: projections onto the vocabulary.
        pairs: of tokens in attention when nothing is cached.
        reach: tokens that a cached token would have attended to, beside the cached ones before it.
        one_chain: whether the cached tokens are the beginning of one prompt, so that each attends to all
            before it.
    """

    by_user: bool
    prompts: int
    asked: Tokens
    computed: Tokens
    shared: Tokens
    kept: Tokens
    rows: int
    pairs: npt.NDArray[np.float64]
    reach: float
    one_chain: bool

    def work(self, turn: int, hit: int) -> Work:
        """Of one call, of which `hit` tokens are cached."""
        saved = hit * self.reach + (hit * hit / 2 if self.one_chain else 0.0)
        return Work(
            tokens=int(self.computed[turn]) - hit,
            pairs=float(self.pairs[turn]) - saved,
            rows=self.rows,
            seen=int(self.asked[turn]),
            prompts=self.prompts,
        )

    def costs(self, roofline: Roofline) -> Costs:
        """The same, priced once for all calls."""
        cold = self.computed * roofline.per_token + self.pairs * roofline.per_pair
        return Costs(
            cold=(cold + self.rows * roofline.per_row + self.prompts * roofline.per_prompt).tolist(),
            read=(self.asked * roofline.per_seen).tolist(),
            saved_by_token=roofline.per_token + self.reach * roofline.per_pair,
            saved_by_square=roofline.per_pair / 2 if self.one_chain else 0.0,
        )


@dataclass(frozen=True, slots=True)
class Costs:
    """Seconds of a call by turn: `cold - (saved_by_token + saved_by_square x hit) x hit`, and its reading."""

    cold: list[float]
    read: list[float]
    saved_by_token: float
    saved_by_square: float


def turns(layout: Layout, prompt: Prompt, count: int, *, keeps_suffix: bool = True, block: int = 1) -> Turns:
    """The calls of a session.

    Args:
        layout: `naive` puts the memories in another order each turn, so that only the instructions are
            shared; `deck` appends new ones to those of the turn before; `pointwise` and `likelihood` give
            each memory a prompt of its own.
        prompt: its sizes.
        count: how many turns to tell.
        keeps_suffix: whether the runtime keeps the question's KV too, which serves nobody (SGLang's radix
            tree does, the embedded runtime does not).
        block: the runtime keeps and finds whole blocks of so many tokens (1 in SGLang).
    """
    if layout in ("pointwise", "likelihood"):
        return _each_alone(layout, prompt, count, keeps_suffix=keeps_suffix, block=block)
    suffix = prompt.conversation + prompt.question
    at = np.arange(count)
    dealt = prompt.instructions + prompt.memory * _deck(layout, prompt, at)
    before = np.concatenate(([0], dealt[:-1]))
    grown = (dealt >= before) & (layout == "deck")
    shared = np.where(grown, before, prompt.instructions)
    shared[0] = 0
    length = dealt + suffix
    return Turns(
        by_user=False,
        prompts=1,
        asked=length,
        computed=length,
        shared=shared // block * block,
        kept=_whole(dealt + suffix * keeps_suffix, block),
        rows=1,
        pairs=length * length / 2,
        reach=0.0,
        one_chain=True,
    )


def _deck(layout: Layout, prompt: Prompt, at: Tokens) -> Tokens:
    if layout == "naive" or not prompt.new:
        return np.full_like(at, prompt.memories)
    rounds = max(0, prompt.deck_max - prompt.memories) // prompt.new + 1
    return prompt.memories + prompt.new * (at % rounds)


def _each_alone(layout: Layout, prompt: Prompt, count: int, *, keeps_suffix: bool, block: int) -> Turns:
    many = prompt.memories
    suffix = prompt.question + (prompt.conversation if layout == "pointwise" else 0)
    own = _whole_number(prompt.memory, block)
    opening, length = prompt.instructions, prompt.instructions + prompt.memory + suffix
    pairs = many * length**2 / 2 - (many - 1) * opening**2 / 2
    return Turns(
        by_user=True,
        prompts=many,
        asked=np.full(count, many * length),
        computed=np.full(count, opening + many * (prompt.memory + suffix)),
        shared=np.full(count, opening + max(0, many - prompt.new) * prompt.memory),
        kept=np.full(count, opening + many * (own + suffix * keeps_suffix)),
        rows=many * (suffix if layout == "likelihood" else 1),
        pairs=np.full(count, pairs),
        reach=opening + prompt.memory / 2,
        one_chain=False,
    )


def _whole(tokens: Tokens, block: int) -> Tokens:
    return -(-tokens // block) * block


def _whole_number(tokens: int, block: int) -> int:
    return -(-tokens // block) * block
