"""Requests and rooflines for the tests of planning."""

from memsift_ops.planning import hardware
from memsift_ops.planning.card_queue import Batching
from memsift_ops.planning.layouts import Prompt
from memsift_ops.planning.request import Request
from memsift_ops.planning.roofline import Roofline
from memsift_ops.planning.simulate import Setup
from memsift_ops.planning.traffic import Traffic

FOR_EVER = float("inf")
ALONE = Batching(most=1, wait_s=0.0, deadline_s=FOR_EVER)


def constant(seconds):
    """Every batch takes the same time, whatever it holds."""
    return Roofline(0.0, 0.0, 0.0, 0.0, 0.0, seconds)


def setup(**changes):
    """Poisson arrivals, ten a second, at cards that take 10 ms for each call; no cache to speak of."""
    usual = {
        "roofline": constant(0.01),
        "room": 10_000,
        "layout": "naive",
        "prompt": Prompt(),
        "traffic": Traffic(calls_per_s=10.0, turns=1.0, think_s=1.0, users=100),
        "affinity": "random",
        "batching": ALONE,
        "jobs": 20_000,
    }
    return Setup(**(usual | changes))


def request(**changes):
    """Qwen3-4B on a 4090, with few calls, so that a test takes a moment."""
    usual = {"card": hardware.card("rtx4090"), "model": hardware.model("qwen3-4b"), "jobs": 4_000}
    return Request(**(usual | changes))
