"""When calls arrive: at random moments that do not wait for answers, the same ones for every system."""

from __future__ import annotations

import random


def planned(rate: float, seconds: float, seed: int) -> list[float]:
    """Seconds from the start at which calls arrive: a Poisson process.

    Args:
        rate: calls per second, on average.
        seconds: how long calls arrive.
        seed: of the moments.
    """
    dice = random.Random(seed)
    moments, at = [], dice.expovariate(rate)
    while at < seconds:
        moments.append(at)
        at += dice.expovariate(rate)
    return moments
