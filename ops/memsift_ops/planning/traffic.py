"""When calls come, and whose they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Traffic:
    """A load that does not change over the simulated time, and does not wait for its answers.

    Attributes:
        calls_per_s: of all users together.
        turns: mean calls of a session; their number is geometric, so most sessions are shorter.
        think_s: mean seconds between two calls of a session: the answer is written and read, the next
            message typed. Exponential.
        users: who have the sessions, each as likely.
    """

    calls_per_s: float
    turns: float
    think_s: float
    users: int

    @property
    def sessions(self) -> float:
        """How many are under way at once, on average: those whose next call is still to come."""
        return self.calls_per_s * (1 - 1 / self.turns) * self.think_s


@dataclass(frozen=True, slots=True)
class Calls:
    """Calls in the order of their arrival.

    Attributes:
        times: seconds from the start.
        sessions: number of the session.
        users: number of the user.
        turns: which call of its session it is, from 0.
    """

    times: npt.NDArray[np.float64]
    sessions: npt.NDArray[np.int64]
    users: npt.NDArray[np.int64]
    turns: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """How many calls."""
        return len(self.times)


def draw(traffic: Traffic, seconds: float, rng: np.random.Generator) -> Calls:
    """Calls of so many seconds.

    It begins as if it had been going on for ever: sessions that are under way have a number of turns behind
    them, and as many to come as a new one, since the geometric distribution has no memory.
    """
    ending = 1 / traffic.turns
    running = rng.poisson(traffic.sessions)
    beginning = rng.poisson(traffic.calls_per_s / traffic.turns * seconds)
    count = rng.geometric(ending, running + beginning)
    first_turn = np.concatenate((rng.geometric(ending, running), np.zeros(beginning, np.int64)))
    total = int(count.sum())
    gaps = rng.exponential(traffic.think_s, total)
    begins = np.concatenate(([0], np.cumsum(count)[:-1])).astype(np.int64)
    new = begins[running:]
    gaps[new] = rng.uniform(0, seconds, beginning)
    since = np.cumsum(gaps)
    times = since - np.repeat(since[begins] - gaps[begins], count) if total else since
    session = np.repeat(np.arange(len(count)), count)
    turn = np.arange(total) - np.repeat(begins - first_turn, count)
    users = rng.integers(0, traffic.users, len(count))
    kept = np.flatnonzero(times < seconds)
    order = kept[np.argsort(times[kept], kind="stable")]
    chosen = session[order]
    return Calls(times[order], chosen, users[chosen], turn[order])
