"""What a job's prompt shows of its session."""

from __future__ import annotations

from dataclasses import dataclass, field

from memsift_workers.decks.deck import Entry


@dataclass(frozen=True, slots=True)
class Laid:
    """What a job's prompt shows, beside its question.

    Attributes:
        entries: memories in order; a job's candidate is one that `places` names.
        places: position in the job of each entry; None for a memory that is no candidate, and no answer.
        talk: the lines of conversation behind them, oldest first.
        kept: how many of the first entries the session's last prompt showed at the same place.
        kept_talk: how many of the first lines of conversation follow them there as they did then.
        changed: something that the last prompt showed has gone or moved.
        turn: which prompt of the session this is, from 1.
        runtime: which runtime had the last one; empty for none.
    """

    entries: tuple[Entry, ...] = ()
    places: tuple[int | None, ...] = ()
    talk: tuple[str, ...] = field(default=(), repr=False)
    kept: int = 0
    kept_talk: int = 0
    changed: bool = False
    turn: int = 1
    runtime: str = ""
