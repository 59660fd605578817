"""A whole comparison: the systems in turns, round by round, on one Redis."""

from __future__ import annotations

import dataclasses
import functools
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memsift_ops.errors import Failure
from memsift_ops.peers import environments
from memsift_ops.peers.round import Plan, measure
from memsift_ops.peers.systems import System
from memsift_ops.stack import Stack

# system -> its rounds, each as `round.measure` returns it
Rounds = dict[str, list[dict[str, Any]]]


def install(chosen: Sequence[System], said: Callable[[str], None]) -> None:
    """Make the environments that are not there yet.

    Args:
        chosen: the systems.
        said: is told what is being installed.

    Raises:
        Failure: one could not be installed.
    """
    for system in chosen:
        if system.packages and not environments.is_there(system.name, system.packages):
            said(f"installing {system.name} into a virtual environment of its own, once")
            environments.python(system.name, system.packages)


def compare(
    chosen: Sequence[System], plan: Plan, *, rounds: int, progress: Callable[[str], None]
) -> tuple[Rounds, dict[str, str]]:
    """Measure the systems in turns; each round begins with another one.

    Args:
        chosen: the systems.
        plan: what a round consists of; each round has arrivals of its own.
        rounds: how many.
        progress: is told what is being measured, once for each load.

    Returns:
        Each system's rounds, and why those that could not be measured could not.
    """
    found: Rounds = {system.name: [] for system in chosen}
    failed: dict[str, str] = {}
    with Stack("memsift.bench.queue") as stack, tempfile.TemporaryDirectory() as folder:
        url = stack.start_valkey()
        for at in range(rounds):
            turn = at % len(chosen)
            for system in (*chosen[turn:], *chosen[:turn]):
                if system.name in failed:
                    continue
                try:
                    found[system.name].append(
                        measure(
                            system,
                            dataclasses.replace(plan, seed=plan.seed + at),
                            url,
                            stack.pid("valkey"),
                            Path(folder),
                            progress=functools.partial(_tell, progress, system.name),
                        )
                    )
                except Failure as failure:
                    failed[system.name] = failure.format_message()
    return {name: each for name, each in found.items() if each}, failed


def _tell(progress: Callable[[str], None], name: str, what: str) -> None:
    progress(f"{name}: {what}")


def described(chosen: Sequence[System]) -> Mapping[str, str]:
    """How each system is set up."""
    return {system.name: system.about for system in chosen}
