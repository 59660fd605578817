"""The systems that are compared, as `systems.toml` has them."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
MEMSIFT, QUEUE_ALONE = "memsift", "memsift-queue"


@dataclass(frozen=True, slots=True)
class System:
    """One of them.

    Attributes:
        name: as people know it.
        packages: what its virtual environment holds, pinned; none for memsift, which runs in ours.
        worker: arguments of the interpreter that start its worker.
        about: how it is set up.
        environment: more variables for its worker.
        module: the name of its module in `peer_side`, before `_system`; empty for its own name.
    """

    name: str
    packages: Sequence[str]
    worker: Sequence[str]
    about: str
    environment: Mapping[str, str] = field(default_factory=dict)
    module: str = ""

    @property
    def ours(self) -> bool:
        """Whether it is memsift, in one setup or another: it runs in our own environment."""
        return not self.packages

    @property
    def driven_by(self) -> str:
        """The name of its module in `peer_side`, before `_system`."""
        return self.module or self.name.replace("-", "_")


@functools.cache
def systems() -> Mapping[str, System]:
    """All of them by name, memsift first."""
    table = tomllib.loads((HERE / "systems.toml").read_text(encoding="utf-8"))
    return {name: System(name=name, **entry) for name, entry in table.items()}
