"""What is asked: a load, the hardware it meets, and what a good answer is."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from memsift_ops.errors import Refused
from memsift_ops.planning import layouts, roofline
from memsift_ops.planning.card_queue import Batching
from memsift_ops.planning.dispatch import Affinity
from memsift_ops.planning.hardware import Card, Model
from memsift_ops.planning.layouts import Layout, Prompt
from memsift_ops.planning.roofline import Efficiency, Kv, Roofline, Weights
from memsift_ops.planning.simulate import Setup
from memsift_ops.planning.traffic import DAY_S, Traffic


@dataclass(frozen=True, slots=True)
class Request:
    """One question to the simulator.

    Attributes:
        card: one worker has one.
        model: that it runs.
        weights: their precision.
        kv: precision of keys and values.
        layout: of the prompts.
        affinity: which card gets a call.
        prompt: sizes in tokens.
        calls_per_day: mean over the day.
        peak: how many times the mean comes in the simulated time, the busiest hour.
        users: on that day.
        turns: mean calls of a session.
        think_s: mean seconds between them.
        efficiency: what of the card's peak is reached.
        batching: how workers take calls, and the deadline.
        spill_at: see `dispatch.by_session`.
        jobs: calls that count in one simulation.
        seed: of all random choices.
    """

    card: Card
    model: Model
    weights: Weights = "bf16"
    kv: Kv = "bf16"
    layout: Layout = "deck"
    affinity: Affinity = "session"
    prompt: Prompt = field(default_factory=Prompt)
    calls_per_day: float = 1e6
    peak: float = 2.0
    users: int = 20_000
    turns: float = 10.0
    think_s: float = 45.0
    efficiency: Efficiency = field(default_factory=Efficiency)
    batching: Batching = field(default_factory=Batching)
    spill_at: int = 2
    jobs: int = 100_000
    seed: int = 1

    @property
    def roofline(self) -> Roofline:
        """Of the card with the model."""
        return Roofline.of(self.card, self.model, self.weights, self.kv, self.efficiency)

    @property
    def room(self) -> int:
        """Tokens that fit into the card's cache."""
        return roofline.room(self.card, self.model, self.weights, self.kv, self.efficiency)

    @property
    def traffic(self) -> Traffic:
        """In the busiest hour."""
        return Traffic(self.calls_per_day / DAY_S * self.peak, self.turns, self.think_s, self.users)

    @property
    def deadline_s(self) -> float | None:
        """When callers fall back; None when they wait for ever."""
        return self.batching.deadline_s if math.isfinite(self.batching.deadline_s) else None

    def setup(self) -> Setup:
        """For the simulator.

        Raises:
            Refused: the card cannot hold the model and one call.
        """
        longest = int(self.turn_table(self.prompt.deck_max).kept.max())
        if self.room < longest:
            raise Refused(
                f"{self.model.name} with {self.weights} weights leaves room for {max(self.room, 0):,} tokens "
                f"on {self.card.name}, and one call has {longest:,}: take a card with more memory, "
                "--weights fp8 or int4, --kv fp8, or shorter prompts"
            )
        return Setup(
            roofline=self.roofline,
            room=self.room,
            layout=self.layout,
            prompt=self.prompt,
            traffic=self.traffic,
            affinity=self.affinity,
            batching=self.batching,
            spill_at=self.spill_at,
            jobs=self.jobs,
            seed=self.seed,
        )

    def turn_table(self, last: int) -> layouts.Turns:
        """The turns of a session up to this one, from 0."""
        return layouts.turns(self.layout, self.prompt, last + 1)

    def cold_ms(self) -> float:
        """What the first call of a session takes when nothing else is there, with the wait for its batch."""
        work = self.turn_table(1).work(0, 0)
        return (self.batching.wait_s + self.roofline.seconds(work)) * 1e3

    def warm_ms(self) -> float:
        """The same of the second call, when the first has left all that it can."""
        table = self.turn_table(1)
        return (self.batching.wait_s + self.roofline.seconds(table.work(1, int(table.shared[1])))) * 1e3


def variants(asked: Request) -> dict[str, Request]:
    """The same load with one thing changed after the other, so that each shows what it is worth.

    `reuse` has the asked layout, or `deck`, on whichever card is free; `affinity` is reuse with each session
    sent back to its card.
    """
    reuse: Layout = "deck" if asked.layout == "naive" else asked.layout
    plain = replace(asked, layout="naive", affinity="random", weights="bf16", kv="bf16")
    fp8: dict[str, Any] = {"weights": "fp8", "kv": "fp8"}
    told = {
        "no reuse": plain,
        "reuse": replace(plain, layout=reuse),
        "affinity": replace(plain, layout=reuse, affinity="session"),
        "no reuse, fp8": replace(plain, **fp8),
        "reuse, fp8": replace(plain, layout=reuse, **fp8),
        "affinity, fp8": replace(plain, layout=reuse, affinity="session", **fp8),
    }
    return told if asked in told.values() else {"as asked": asked, **told}
