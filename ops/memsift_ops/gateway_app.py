"""The gateway's application as `memsift gateway` runs it: its page offers the scenes of `memsift demo`."""

from __future__ import annotations

from collections.abc import Iterator

from starlette.applications import Starlette

from memsift_ops import scene
from memsift_producer.gateway import serving, ui


def application() -> Starlette:
    """For `uvicorn --factory`."""
    return serving.application(scenes=scenes)


def scenes() -> Iterator[ui.Scene]:
    """The demo's conversations in the page's form."""
    for played in map(scene.load, scene.NAMES):
        questions = tuple(
            ui.Question(
                query=question.query,
                now=question.now,
                turns=tuple(played.conversation(position)),
                activity=question.activity,
                memories=tuple(played.recalled(question)),
                relevant=tuple(sorted(question.relevant)),
            )
            for position, question in enumerate(played.turns)
        )
        yield ui.Scene(lang=played.lang, title=played.title, story=played.story, questions=questions)
