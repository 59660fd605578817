"""Conversations of several turns: our own, and the questions of one user of an evaluation set in order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from memsift_ops import datasets, scene
from memsift_ops.datasets import Case
from memsift_schemas.memory import Turn

FEWEST_TURNS = 2


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation.

    Attributes:
        name: where it comes from.
        cases: its questions in order, each with the conversation before it.
    """

    name: str
    cases: tuple[Case, ...]


def own() -> list[Session]:
    """The conversations of `memsift demo`, one in each language."""
    return [_of_scene(name) for name in scene.NAMES]


def of_set(folder: Path, name: str, *, turns: int, most: int, seed: int) -> list[Session]:
    """Sessions of an evaluation set: each user's questions in the order of the file, cut into sessions.

    Where the set gives no conversation before a question, the questions before it are that.

    Args:
        folder: where the set is.
        name: its name.
        turns: questions of a session; what is left over at the end of a user's is a session too, if it has
            two questions at least.
        most: how many sessions, chosen at random.
        seed: of the choice.

    Raises:
        InvalidInput: see `datasets.load`.
    """
    users: dict[str, list[Case]] = {}
    for case in datasets.load(folder, name, seed=None):
        users.setdefault(case.user, []).append(case)
    found = []
    for user, cases in users.items():
        for at in range(0, len(cases), turns):
            part = cases[at : at + turns]
            if len(part) >= FEWEST_TURNS:
                found.append(Session(f"{name} {user} {at // turns + 1}", _in_a_row(part)))
    random.Random(seed).shuffle(found)
    return found[:most]


def _in_a_row(cases: Sequence[Case]) -> tuple[Case, ...]:
    asked: list[Turn] = []
    found = []
    for case in cases:
        talk = case.turns or tuple(asked)
        found.append(
            Case(case.id, case.user, case.query, case.now, talk, case.memories, case.gold, case.lang)
        )
        asked.append(Turn(role="user", text=case.query))
    return tuple(found)


def _of_scene(name: str) -> Session:
    played = scene.load(name)
    cases = tuple(
        Case(
            id=f"{name}-{at}",
            user=played.user,
            query=question.query,
            now=question.now,
            turns=tuple(played.conversation(at)),
            memories=tuple(played.recalled(question)),
            gold=question.relevant,
            lang=name,
        )
        for at, question in enumerate(played.turns)
    )
    return Session(f"demo {name}", cases)
