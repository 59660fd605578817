"""The outcomes of a run as JSON lines, so that a run that was killed goes on where it was.

The first line tells which run it is; every further line is one `Outcome`. Nothing in it is a text of a user,
unless rankers' own words are kept, which may quote one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from memsift_ops.errors import Refused
from memsift_ops.evaluation.outcome import Outcome

FORMAT = 2


class _Header(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    memsift_eval: int
    fingerprint: str
    about: dict[str, Any]


def fingerprint(arguments: Mapping[str, Any]) -> str:
    """Tells runs with different arguments, data or settings apart.

    Args:
        arguments: JSON-ready.
    """
    canonical = json.dumps(arguments, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


class RunFile:
    """Outcomes, kept on disk if there is a path.

    Args:
        path: the file; None keeps them in memory only.
        wanted: the fingerprint of this run.
        reasons: whether the words of rankers are kept; what the file already holds of them stays there.

    Raises:
        Refused: the file is of another run, or of none.
    """

    def __init__(self, path: Path | None, wanted: str, *, reasons: bool = False) -> None:
        self.outcomes: list[Outcome] = []
        self.about: dict[str, Any] | None = None
        self._path = path
        self._wanted = wanted
        self._reasons = reasons
        self._file: IO[str] | None = None
        if path is not None and path.exists():
            self._read(path)

    def begin(self, about: Mapping[str, Any]) -> None:
        """Write the first line, if this run has none yet.

        Args:
            about: who answers, JSON-ready; kept in `about`.

        Raises:
            Refused: the file cannot be written.
        """
        new = self.about is None
        if self.about is None:
            self.about = dict(about)
        if self._path is None:
            return
        try:
            self._file = self._path.open("a", encoding="utf-8")
        except OSError as error:
            raise Refused(f"cannot write {self._path}: {error.strerror}") from None
        if new:
            header = _Header(memsift_eval=FORMAT, fingerprint=self._wanted, about=self.about)
            self._write(header)

    def add(self, outcome: Outcome) -> None:
        """Keep one more; after `begin`."""
        if not self._reasons:
            outcome = outcome.model_copy(update={"reason": None})
        self.outcomes.append(outcome)
        self._write(outcome)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def _write(self, line: BaseModel) -> None:
        if self._file is not None:
            # One write for a whole line, at once on disk: a kill costs one question at most.
            self._file.write(line.model_dump_json() + "\n")
            self._file.flush()

    def _read(self, path: Path) -> None:
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise Refused(f"cannot read {path}: {error.strerror}") from None
        # What follows the last line break was being written when the run was killed.
        whole = raw[: raw.rfind(b"\n") + 1]
        if not whole and not raw.startswith(b'{"memsift_eval"') and raw:
            raise Refused(f"{path} is no run of `memsift eval`")
        if not whole:
            _cut(path, 0)
            return
        first, *rest = whole.decode("utf-8", "replace").split("\n")[:-1]
        self.about = self._header(first, path)
        for number, line in enumerate(rest, start=2):
            try:
                self.outcomes.append(Outcome.model_validate_json(line))
            except ValidationError:
                raise Refused(f"{path} line {number} is no outcome of `memsift eval`") from None
        _cut(path, len(whole))

    def _header(self, line: str, path: Path) -> dict[str, Any]:
        try:
            header = _Header.model_validate_json(line)
        except ValidationError:
            raise Refused(f"{path} is no run of `memsift eval`") from None
        if (header.memsift_eval, header.fingerprint) != (FORMAT, self._wanted):
            raise Refused(
                f"{path} is a run with other arguments, data or settings: name another file, or delete it"
            )
        return header.about


def _cut(path: Path, length: int) -> None:
    try:
        with path.open("r+b") as file:
            file.truncate(length)
    except OSError as error:
        raise Refused(f"cannot write {path}: {error.strerror}") from None
