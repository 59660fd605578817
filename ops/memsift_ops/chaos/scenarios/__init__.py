"""The scenarios by name, in the order in which a whole run plays them."""

from __future__ import annotations

from collections.abc import Callable

from memsift_ops.chaos.scenarios import blackhole, breaker, crash, kill, leave, overload, poison, scale, soak
from memsift_ops.chaos.stage import Result, Stage

SCENARIOS: dict[str, Callable[[Stage], Result]] = {
    "soak": soak.play,
    "poison": poison.play,
    "crash": crash.play,
    "leave": leave.play,
    "overload": overload.play,
    "scale": scale.play,
    "breaker": breaker.play,
    "blackhole": blackhole.play,
    "kill": kill.play,
}
