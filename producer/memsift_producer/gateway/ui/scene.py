"""What the page offers to start from; whoever serves the gateway hands scenes in."""

from __future__ import annotations

from pydantic import AwareDatetime, BaseModel, ConfigDict

from memsift_schemas.memory import Memory, Turn


class Question(BaseModel):
    """A question over memories, ready to be asked.

    Attributes:
        query: the question.
        now: when it is asked.
        turns: the conversation before it.
        activity: what the user did just before.
        memories: what recall found.
        relevant: ids of what belongs into the prompt, for display alone.
    """

    model_config = ConfigDict(frozen=True)

    query: str
    now: AwareDatetime
    turns: tuple[Turn, ...] = ()
    activity: tuple[str, ...] = ()
    memories: tuple[Memory, ...]
    relevant: tuple[str, ...] = ()


class Scene(BaseModel):
    """A conversation, question by question.

    Attributes:
        lang: the language of its text, such as `en`.
        title: a few words.
        story: what happened before, a sentence or two a paragraph.
        questions: in order.
    """

    model_config = ConfigDict(frozen=True)

    lang: str
    title: str
    story: tuple[str, ...] = ()
    questions: tuple[Question, ...]
