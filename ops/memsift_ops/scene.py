"""The two conversations that `memsift demo` plays and the page offers: `scenes/zh.json`, `en.json`."""

from __future__ import annotations

from importlib import resources
from typing import Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, FiniteFloat, model_validator

from memsift_schemas.memory import Memory, Turn

NAMES = ("zh", "en")


class Question(BaseModel):
    """One of the user's questions.

    Attributes:
        query: the question.
        now: when it is asked.
        activity: what the user did just before.
        answer: what the assistant then says; part of the conversation from the next question on.
        relevant: ids of what belongs into the prompt; for display alone.
        candidates: ids of what recall found, about fifty, most similar first.
        similarity: of each candidate, as a vector store gives it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    query: str
    now: AwareDatetime
    activity: tuple[str, ...]
    answer: str
    relevant: frozenset[str]
    candidates: tuple[str, ...]
    similarity: tuple[FiniteFloat, ...]


class Scene(BaseModel):
    """A conversation of one session over one user's memories.

    Attributes:
        about: how the file was made.
        lang: the language of all its text.
        title: a few words.
        story: what happened before, one sentence or two a paragraph.
        user: whose memories these are.
        session: the conversation's id.
        memories: the store.
        turns: the questions, in order.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    about: str
    lang: str
    title: str
    story: tuple[str, ...]
    user: str
    session: str
    memories: tuple[Memory, ...]
    turns: tuple[Question, ...]

    @model_validator(mode="after")
    def _known_ids(self) -> Self:
        known = {memory.id for memory in self.memories}
        for question in self.turns:
            if not {*question.candidates, *question.relevant} <= known:
                raise ValueError("a turn names a memory that the scene lacks")
        return self

    def recalled(self, question: Question) -> list[Memory]:
        """The candidates of a question with their similarities."""
        by_id = {memory.id: memory for memory in self.memories}
        return [
            by_id[key].model_copy(update={"similarity": similarity})
            for key, similarity in zip(question.candidates, question.similarity, strict=True)
        ]

    def conversation(self, before: int) -> list[Turn]:
        """What was said before the question at this position, from 0."""
        said: list[Turn] = []
        for question in self.turns[:before]:
            said.append(Turn(role="user", text=question.query))
            said.append(Turn(role="assistant", text=question.answer))
        return said


def load(name: str) -> Scene:
    """Read one of `NAMES` from the package."""
    file = resources.files("memsift_ops") / "scenes" / f"{name}.json"
    return Scene.model_validate_json(file.read_bytes())
