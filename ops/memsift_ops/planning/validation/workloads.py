"""Synthetic sessions, as prompts for the engine and as what the simulator is told of them.

The texts are made of words that are one token each for SmolLM2, so that their sizes are known without the
engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from memsift_ops.planning import hardware, layouts, traffic
from memsift_ops.planning.layouts import Layout, Prompt, Turns
from memsift_ops.planning.traffic import Calls, Traffic
from memsift_workers.runtimes.base import Call, Labels, Likelihood

MODEL = hardware.Model.shipped("smollm2-135m")
# The embedded runtime keeps keys and values in 8 bits, with a scale and a zero point of 32 bits for each
# head's vector, in blocks of 32 tokens (`paged_model`).
BLOCK = 32
BLOCK_BYTES = BLOCK * MODEL.kv_elements // MODEL.head_dim * (MODEL.head_dim + 8)

_NOUNS = (
    "time year people way day man thing woman life child world school state family student group"
    " country problem hand part place case week company system program question work government number"
    " night point home water room mother area money story fact month lot right study book eye job word"
    " business issue side kind head house service friend father power hour game line end member law"
    " car city community name president team minute idea body information back parent face others"
    " level office door health person art war history party result change morning reason research girl"
    " guy moment air teacher force education"
)
WORDS = _NOUNS.split()
# Layouts that give each memory a prompt of its own.
ALONE = ("pointwise", "likelihood")
LABELS = Labels((" A", " B"))


@dataclass(frozen=True, slots=True)
class Workload:
    """Sessions that ask the engine one after the other.

    Attributes:
        name: for the table.
        calls: how many.
        layout: of the prompts.
        cache_mb: of the engine.
        memories: in the first turn's prompt.
        new: memories of a turn that the one before did not have.
        turns: mean calls of a session.
        sessions: that are under way at once, on average.
        deck_max: a deck that would outgrow it is laid anew.
        seed: of the arrivals and the texts.
    """

    name: str
    calls: int = 120
    layout: Layout = "deck"
    cache_mb: int = 32
    memories: int = 8
    new: int = 2
    turns: float = 6.0
    sessions: int = 10
    deck_max: int = 24
    seed: int = 1

    instructions = BLOCK + 1
    memory = 24
    question = 12

    def arrivals(self) -> Calls:
        """Who asks when. Only the order matters: the engine is never asked two things at once."""
        rate = self.sessions / (1 - 1 / self.turns)
        load = Traffic(calls_per_s=rate, turns=self.turns, think_s=1.0, users=1_000_000)
        drawn = traffic.draw(load, 2 * self.calls / rate + 5, np.random.default_rng(self.seed))
        first = slice(0, self.calls)
        # A user of its own for each session, as `pointwise` and `likelihood` share within a user.
        return Calls(drawn.times[first], drawn.sessions[first], drawn.sessions[first], drawn.turns[first])

    @property
    def prompt(self) -> Prompt:
        """Sizes as the engine counts: a prefix's last token is computed with the question (`scoring`)."""
        return Prompt(
            instructions=self.instructions - 1,
            memories=self.memories,
            memory=self.memory,
            new=self.new,
            conversation=0,
            question=self.question + 1,
            deck_max=self.deck_max,
        )

    def turn_table(self, count: int) -> Turns:
        """What the simulator is told of the calls."""
        return layouts.turns(self.layout, self.prompt, count, keeps_suffix=False, block=BLOCK)

    @property
    def room(self) -> int:
        """Tokens that the cache holds beside the blocks that a question is computed in."""
        prompts = self.memories if self.layout in ALONE else 1
        own = prompts * -(-(BLOCK - 1 + self.question + 1) // BLOCK)
        return max(0, (self.cache_mb << 20) // BLOCK_BYTES - own) * BLOCK

    def prompts(self) -> Iterator[list[Call]]:
        """The calls of each turn, in the order of the arrivals."""
        arrivals = self.arrivals()
        for session, turn in zip(arrivals.sessions.tolist(), arrivals.turns.tolist(), strict=True):
            yield self._turn(session, turn)

    def _turn(self, session: int, turn: int) -> list[Call]:
        memories = [self._words(session, number, self.memory) for number in self._numbers(turn)]
        question = self._words(session, -turn - 1, self.question)
        opening = self._words(0, -10_000, self.instructions)
        user = f"{self.name} {session}"
        wish = Likelihood() if self.layout == "likelihood" else LABELS
        parts = [(memory,) for memory in memories] if self.layout in ALONE else [tuple(memories)]
        return [Call((opening, *part), question, wish, user) for part in parts]

    def _numbers(self, turn: int) -> range:
        """Which of the session's memories a turn has."""
        if self.layout == "naive":  # others each time, as if their order had changed
            return range(turn * self.memories, (turn + 1) * self.memories)
        if self.layout == "deck":
            rounds = (self.deck_max - self.memories) // self.new + 1 if self.new else turn + 1
            begin = turn // rounds * 1_000
            return range(begin, begin + self.memories + self.new * (turn % rounds))
        return range(turn * self.new, turn * self.new + self.memories)

    def _words(self, session: int, number: int, count: int) -> str:
        rng = np.random.default_rng([self.seed, session, number + 20_000])
        return "".join(f" {WORDS[at]}" for at in rng.integers(0, len(WORDS), count))


CALIBRATION = (
    Workload("deck, 32 MiB"),
    Workload("deck, 96 MiB", cache_mb=96),
    Workload("pointwise, 32 MiB", layout="pointwise", calls=60, seed=2),
)
# Other caches, sizes, session lengths, arrivals and layouts than those above.
UNSEEN = (
    Workload("deck, 16 MiB", cache_mb=16, seed=3),
    Workload("larger decks", memories=16, deck_max=32, calls=80, seed=4),
    Workload("long sessions", turns=12, sessions=16, cache_mb=48, seed=5),
    Workload("few sessions", sessions=3, seed=6),
    Workload("naive", layout="naive", calls=60, seed=7),
    Workload("pointwise, 16 MiB", layout="pointwise", cache_mb=16, calls=60, seed=8),
    Workload("likelihood, 24 MiB", layout="likelihood", cache_mb=24, calls=60, seed=9),
)
