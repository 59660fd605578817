"""Labelled questions of a decision log: what was asked and recalled, and what feedback says was right."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from memsift_ops.decisions import reading
from memsift_ops.own_logs.rows import LogMemory, LogRow, LogTurn, Question, checked, resolved
from memsift_schemas.decision import DecisionText, Told
from memsift_schemas.errors import InvalidInput


@dataclass(slots=True)
class Labelled:
    """What a log gave.

    Attributes:
        questions: oldest first.
        notes: what was left out, a sentence each.
    """

    questions: list[Question] = field(default_factory=list, repr=False)
    notes: list[str] = field(default_factory=list)


def read(path: Path) -> Labelled:
    """Read the calls whose text was kept and that got feedback.

    Relevant is what was used or missed. A call whose feedback names neither is a question that no memory
    answers.

    Raises:
        InvalidInput: there is none, or its text cannot be opened; names the remedy.
    """
    found = reading.read([path])
    calls = [one for one in found.decisions.values() if one.memories]
    told = [one for one in calls if one.job in found.told]
    kept = [one for one in told if one.text is not None]
    if not told:
        raise InvalidInput(
            f"{path.name}: none of {len(calls)} calls got feedback: have the frontends call feedback()"
        )
    if not kept:
        raise InvalidInput(
            f"{path.name}: of {len(told)} calls with feedback none can be used: {reading.NO_TEXT}"
        )
    ring = reading.key_ring()
    result = Labelled()
    unfit = 0
    for at, decision in enumerate(kept, start=1):
        text = reading.text(decision, ring)
        try:
            row = _row(at, decision.job, decision.user, text, found.told[decision.job])
            result.questions.append(resolved(at, row))
        except InvalidInput:
            unfit += 1
    for count, what in (
        (len(calls) - len(told), "calls without feedback: left out"),
        (len(told) - len(kept), "calls whose text was not kept: left out"),
        (unfit, "calls with an id that no set can hold (over 100 characters, or with spaces): left out"),
        (found.dropped, "lines that the frontends could not write"),
        (found.unreadable, "lines that cannot be read"),
    ):
        if count:
            result.notes.append(f"{count:,} {what}")
    result.notes.append("labelled is what a prompt held, or feedback missed: see docs/decisions.md")
    return result


def _row(at: int, job: str, user: str | None, text: DecisionText, told: Told) -> LogRow:
    return checked(
        LogRow,
        at,
        {
            "id": job,
            "user": user,
            "query": text.query,
            "now": text.now,
            "turns": [LogTurn(role=turn.role, text=turn.text) for turn in text.turns],
            "memories": [
                LogMemory(
                    id=memory.id,
                    text=memory.text,
                    created_at=memory.created_at,
                    similarity=memory.similarity,
                )
                for memory in text.memories
            ],
            "relevant": list(dict.fromkeys((*told.used, *told.missed))),
        },
    )
