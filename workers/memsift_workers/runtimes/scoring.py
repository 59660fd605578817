"""Scoring a batch of prompts on a paged model with a prefix cache.

Every prompt is cut before the last token of its prefix. What comes before, the context, is computed once and
kept; what comes after is computed for each question on top of it, in blocks that are given back at once. So
each suffix token gets its log-probability whatever was asked before, and the same prompt takes the same path,
cold or warm, which makes its score the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from memsift_workers.runtimes.paged_model import Slice
from memsift_workers.runtimes.prefix_cache import CacheTooSmall, Chain, Key, PrefixCache

STEP_TOKENS = 512
"""Tokens per forward pass: enough to keep two cores busy, few enough that an abort waits 0.3 s at most."""


class Model(Protocol):
    """What `Scorer` needs of `PagedModel`."""

    block_size: int
    blocks: int

    def forward(self, slices: Sequence[Slice]) -> npt.NDArray[np.float32]:
        """See `PagedModel.forward`."""
        ...

    def copy(self, sources: Sequence[int], targets: Sequence[int]) -> None:
        """See `PagedModel.copy`."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt and what to read from it.

    Attributes:
        namespace: see `Call.namespace`.
        context: the tokens whose KV is worth keeping.
        rest: the tokens after it. Those behind the last one whose prediction is wanted are not computed.
        wanted: pairs of (index into `rest`, token id) in ascending order of the index: the log-probability
            of the id as the next token.
    """

    namespace: str
    context: Sequence[int] = field(repr=False)
    rest: Sequence[int] = field(repr=False)
    wanted: Sequence[tuple[int, int]] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Score:
    """The log-probabilities wanted, and how many tokens of the context were served from the cache."""

    logprobs: tuple[float, ...]
    cached_tokens: int


@dataclass(slots=True)
class _Row:
    """One sequence on its way through the steps."""

    tokens: Sequence[int] = field(repr=False)
    past: int
    blocks: Sequence[int]
    wanted: Sequence[tuple[int, int]] = field(default=(), repr=False)
    done: int = 0
    logprobs: list[float] = field(default_factory=list)

    def cut(self, size: int) -> Slice:
        """The next `size` tokens as a slice."""
        end = self.done + size
        wanted = [(at - self.done, token) for at, token in self.wanted if self.done <= at < end]
        piece = Slice(self.tokens[self.done : end], self.past + self.done, self.blocks, wanted)
        self.done = end
        return piece


@dataclass(frozen=True, slots=True)
class _Fill:
    """A context that is being computed: its row, all its keys, and the fresh blocks at its end."""

    row: _Row
    chain: Chain
    fresh: list[int]


class Scorer:
    """Scores batches of prompts. Not safe for use by several threads.

    Args:
        model: computes; all of its blocks are used here.
        step_tokens: most tokens in one forward pass.
    """

    def __init__(self, model: Model, *, step_tokens: int = STEP_TOKENS) -> None:
        self._model = model
        self._cache = PrefixCache(model.blocks, model.block_size)
        self._step_tokens = step_tokens

    def score(self, prompts: Sequence[Prompt], check: Callable[[], None]) -> list[Score]:
        """Score all prompts, in their order.

        Args:
            prompts: any number.
            check: called before each forward pass; what it raises ends the work and leaves the cache intact.

        Raises:
            CacheTooSmall: one prompt alone needs more blocks than there are.
        """
        scores: list[Score] = []
        for wave in self._waves(prompts):
            scores += self._score_wave(wave, check)
        return scores

    def _waves(self, prompts: Sequence[Prompt]) -> Iterator[list[Prompt]]:
        """Groups of prompts whose blocks are sure to fit in at the same time.

        The cache evicts what was used longest ago, so within such a group nothing that it needs is evicted.
        """
        wave: list[Prompt] = []
        room = self._cache.blocks
        for prompt in prompts:
            need = self._blocks(len(prompt.context)) + self._own_blocks(prompt)
            if need > self._cache.blocks:
                raise CacheTooSmall(f"a prompt needs {need} KV blocks, there are {self._cache.blocks}")
            if need > room:
                yield wave
                wave, room = [], self._cache.blocks
            wave.append(prompt)
            room -= need
        if wave:
            yield wave

    def _score_wave(self, wave: Sequence[Prompt], check: Callable[[], None]) -> list[Score]:
        keys = [self._cache.keys(prompt.namespace, prompt.context) for prompt in wave]
        cached = self._fill(wave, keys, check)
        contexts = [self._cache.held(chain) for chain in keys]
        lent = [self._cache.take(self._own_blocks(prompt)) for prompt in wave]
        try:
            self._copy_open_blocks(wave, contexts, lent)
            rows = [self._row(*parts) for parts in zip(wave, contexts, lent, strict=True)]
            self._compute(rows, check)
        finally:
            for blocks in lent:
                self._cache.give_back(blocks)
        return [Score(tuple(row.logprobs), known) for row, known in zip(rows, cached, strict=True)]

    def _fill(self, wave: Sequence[Prompt], keys: Sequence[Chain], check: Callable[[], None]) -> list[int]:
        """Compute and keep all contexts; how many tokens of each were there already.

        A context whose next block is just being computed for another one waits for it: what several
        contexts begin with, such as the instructions, is computed once.
        """
        for chain in keys:
            self._cache.held(chain)  # so that nothing below evicts them
        cached = [len(prompt.context) for prompt in wave]
        waiting = list(range(len(wave)))
        while waiting:
            starting: set[Key] = set()
            later: list[int] = []
            fills: list[_Fill] = []
            for at in waiting:
                held = self._cache.held(keys[at])
                missing = keys[at][len(held) :]
                if not missing:
                    continue
                if missing[0] in starting:
                    later.append(at)
                    continue
                starting.update(missing)
                cached[at] = len(held) * self._cache.block_size
                fresh = self._cache.take(len(missing))
                row = _Row(wave[at].context[cached[at] :], cached[at], held + fresh)
                fills.append(_Fill(row, keys[at], fresh))
            self._compute_and_keep(fills, check)
            waiting = later
        return cached

    def _compute_and_keep(self, fills: Sequence[_Fill], check: Callable[[], None]) -> None:
        try:
            self._compute([fill.row for fill in fills], check)
        except BaseException:
            for fill in fills:
                self._cache.give_back(fill.fresh)
            raise
        for fill in fills:
            self._cache.keep(fill.chain, fill.fresh)

    def _compute(self, rows: Sequence[_Row], check: Callable[[], None]) -> None:
        """Run all rows to their end, in steps of at most `step_tokens`."""
        todo = [row for row in rows if row.tokens]
        while todo:
            check()
            room = self._step_tokens
            owners: list[_Row] = []
            slices: list[Slice] = []
            for row in todo:
                size = min(room, len(row.tokens) - row.done)
                if not size:
                    break
                owners.append(row)
                slices.append(row.cut(size))
                room -= size
            values = self._model.forward(slices).tolist()
            at = 0
            for row, piece in zip(owners, slices, strict=True):
                row.logprobs += values[at : at + len(piece.wanted)]
                at += len(piece.wanted)
            todo = [row for row in todo if row.done < len(row.tokens)]

    def _row(self, prompt: Prompt, context: list[int], lent: list[int]) -> _Row:
        full = len(prompt.context) // self._cache.block_size
        return _Row(_computed(prompt), len(prompt.context), context[:full] + lent, prompt.wanted)

    def _copy_open_blocks(
        self, wave: Sequence[Prompt], contexts: Sequence[list[int]], lent: Sequence[list[int]]
    ) -> None:
        """The last, partly filled block of a context is written on, so each prompt gets its own copy."""
        pairs = [
            (context[-1], own[0])
            for prompt, context, own in zip(wave, contexts, lent, strict=True)
            if len(prompt.context) % self._cache.block_size
        ]
        if pairs:
            sources, targets = zip(*pairs, strict=True)
            self._model.copy(sources, targets)

    def _blocks(self, tokens: int) -> int:
        return -(-tokens // self._cache.block_size)

    def _own_blocks(self, prompt: Prompt) -> int:
        """Blocks from the first one that the prompt writes into to its last."""
        open_tokens = len(prompt.context) % self._cache.block_size
        return self._blocks(open_tokens + len(_computed(prompt)))


def _computed(prompt: Prompt) -> Sequence[int]:
    return prompt.rest[: prompt.wanted[-1][0] + 1] if prompt.wanted else []
