"""Rerankers from PyPI, each in its own environment."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memsift_ops.datasets import Case
from memsift_ops.errors import Failure
from memsift_ops.peers import environments
from memsift_ops.peers.systems import HERE
from memsift_ops.rank_bench.ranked import Ranked, by_scores


@dataclass(frozen=True, slots=True)
class Other:
    """One of them.

    Attributes:
        name: as people know it.
        packages: what its virtual environment holds, pinned.
        about: how it is used.
        weights: where its weights come from; empty where a package ships them.
    """

    name: str
    packages: Sequence[str]
    about: str
    weights: str = ""


@functools.cache
def others() -> Mapping[str, Other]:
    """All of them by name."""
    table = tomllib.loads((HERE / "rankers.toml").read_text(encoding="utf-8"))
    return {name: Other(name=name, **entry) for name, entry in table.items()}


class Running:
    """One of them at work.

    Args:
        other: which.
        weights: folder with its weights, where no package ships them.
    """

    def __init__(self, other: Other, weights: Path | None = None) -> None:
        self._name = other.name
        python = environments.python(other.name, other.packages)
        self._process = subprocess.Popen(
            (str(python), "-m", "peer_side.rank_driver", other.name),
            env={**os.environ, "PYTHONPATH": str(HERE), "BENCH_WEIGHTS": str(weights or "")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def rank(self, case: Case) -> Ranked:
        """See `Subject.rank`."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        asked = {"query": case.query, "documents": [memory.text for memory in case.memories]}
        try:
            process.stdin.write(json.dumps(asked) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            assert process.stderr is not None
            raise Failure(f"{self._name} ended", log=process.stderr.read().splitlines()[-5:])
        told: dict[str, Any] = json.loads(line)
        return Ranked(by_scores(case, told["scores"]), told["ms"], told["cpu_ms"])

    def close(self) -> None:
        """See `Subject.close`."""
        self._process.kill()
        self._process.communicate()
