"""Calls as a caller would have recorded them."""

from memsift_ops.chaos.record import Call


def call(number=0, *, name="a0", candidates=4, **fields):
    """A call that the model answered well, half a second in time, unless fields say otherwise."""
    one = f"{name}-{number}"
    defaults = {
        "started": 100.0 + number,
        "ended": 100.1 + number,
        "ranked": tuple(f"{one}.{at}" for at in reversed(range(candidates))),
        "source": "model",
        "cause": "",
        "over_ms": -300.0,
        "lag_ms": 0.0,
    }
    return Call(one, candidates, **{**defaults, **fields})


def fallback(number=0, cause="deadline", **fields):
    return call(number, source="prefilter", cause=cause, **fields)
