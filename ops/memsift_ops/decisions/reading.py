"""Reads decision logs: a folder that frontends write, files of one, or several of either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from memsift_producer.decisions.files import PATTERN
from memsift_schemas import settings
from memsift_schemas.decision import Decision, DecisionText, Gap, Line, Told, decode
from memsift_schemas.errors import InvalidInput
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import ProducerSettings

KEYS = "MEMSIFT_DECISION_LOG_TEXT_KEYS"
NO_TEXT = f"its text was not kept: set {KEYS} in the frontends, and what is asked from then on can be"
LOCKED = f"its text is sealed: set {KEYS} to the keys of the frontends that wrote it"
# A shorter beginning of a job's id names too many.
LEAST_PREFIX = 4


@dataclass(slots=True)
class Read:
    """A log, or what was asked of it.

    Attributes:
        decisions: by job, oldest first.
        told: the last feedback on each job.
        dropped: lines that their writers could not write.
        unreadable: lines that are none, such as the last one of a process that was killed.
    """

    decisions: dict[str, Decision] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)
    dropped: int = 0
    unreadable: int = 0

    def take(self, line: Line) -> None:
        """Put a line where it belongs."""
        match line:
            case Decision():
                self.decisions[line.job] = line
            case Told():
                self.told[line.job] = line
            case Gap():
                self.dropped += line.dropped


def given(paths: Sequence[Path]) -> list[Path]:
    """The logs that were named, else the one that the settings name.

    Raises:
        InvalidInput: none is.
    """
    if paths:
        return list(paths)
    folder = settings.load(ProducerSettings).decision_log
    if not folder:
        raise InvalidInput("no decision log: give --log, or set MEMSIFT_DECISION_LOG")
    return [Path(folder)]


def is_log(path: Path) -> bool:
    """Whether this is a folder with a decision log, or a file of one."""
    if path.is_dir():
        return any(path.glob(PATTERN))
    with path.open("rb") as file:
        return file.read(9) == b'{"kind":"'


def read(paths: Sequence[Path], *, job: str = "") -> Read:
    """Read logs.

    Args:
        paths: folders or files.
        job: only what is about jobs whose id begins so; else all.

    Raises:
        InvalidInput: a path cannot be read, or holds no log.
    """
    found = Read()
    about = f'"job":"{job}'.encode()
    for path in _files(paths):
        for raw in _lines(path):
            if job and about not in raw:
                continue
            try:
                found.take(decode(raw))
            except InvalidInput:
                found.unreadable += 1
    return found


def find(paths: Sequence[Path], job: str) -> tuple[Decision, Told | None]:
    """One call, and the feedback on it.

    Args:
        paths: folders or files.
        job: its id, or the beginning of it.

    Raises:
        InvalidInput: there is none, or there are several.
    """
    if len(job) < LEAST_PREFIX:
        raise InvalidInput(f"{job}: give at least {LEAST_PREFIX} characters of the job's id")
    found = read(paths, job=job)
    if not found.decisions:
        raise InvalidInput(
            f"{job}: no such job in the log: it is older than MEMSIFT_DECISION_LOG_DAYS, was dropped, or its "
            "frontend logs elsewhere (--log)"
        )
    if len(found.decisions) > 1:
        raise InvalidInput(f"{job}: {len(found.decisions)} jobs begin so: give more of the id")
    (decision,) = found.decisions.values()
    return decision, found.told.get(decision.job)


def key_ring() -> KeyRing | None:
    """The keys that the texts of logs are sealed with, as far as they are set here."""
    return KeyRing.of(settings.load(ProducerSettings).decision_log_text_keys)


def text(decision: Decision, ring: KeyRing | None) -> DecisionText:
    """What a call was about.

    Raises:
        InvalidInput: its text was not kept, or is sealed with a key that is not here.
    """
    if decision.text is None:
        raise InvalidInput(f"job {decision.job}: {NO_TEXT}")
    if ring is None:
        raise InvalidInput(f"job {decision.job}: {LOCKED}")
    clear = ring.open(decision.text.model_dump(), direction="decision", job_id=decision.job)
    return DecisionText.model_validate_json(clear)


def _files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        found = sorted(path.glob(PATTERN)) if path.is_dir() else [path]
        if not found:
            raise InvalidInput(f"{path}: holds no decision log (decisions-*.jsonl)")
        yield from found


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except FileNotFoundError:  # deleted meanwhile, as old files are
        return
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from None
