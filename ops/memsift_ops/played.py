"""A question of a scene, asked, and what there is to say about the answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from memsift_ops.scene import Question, Scene
from memsift_producer import Reranker, Reranking
from memsift_schemas.memory import Memory


@dataclass(frozen=True, slots=True)
class Played:
    """One answered question.

    Attributes:
        scene: where it is from.
        turn: its number in its session, from 1.
        question: what was asked.
        reranking: the answer.
    """

    scene: Scene = field(repr=False)
    turn: int
    question: Question = field(repr=False)
    reranking: Reranking

    @property
    def cached_share(self) -> float:
        """Which part of the prompt tokens came from the prefix cache."""
        result = self.reranking.result
        return result.cached_tokens / max(result.prompt_tokens, 1)

    def chosen(self) -> list[Memory]:
        """What goes into the prompt, best first."""
        return self.reranking.memories()

    def passed_over(self) -> list[Memory]:
        """What the prefilter alone would have put there and the model did not."""
        chosen = {memory.id for memory in self.chosen()}
        best = [place.id for place in self.reranking.fallback.ranking[: self.reranking.top_k]]
        by_id = {memory.id: memory for memory in self.scene.memories}
        return [by_id[key] for key in best if key not in chosen]

    def places(self) -> dict[str, tuple[int, int]]:
        """Id -> place in the final ranking and place in the prefilter's, both from 1."""
        result, fallback = self.reranking.result, self.reranking.fallback
        before = {place.id: number for number, place in enumerate(fallback.ranking, start=1)}
        return {place.id: (number, before[place.id]) for number, place in enumerate(result.ranking, start=1)}

    def as_json(self) -> dict[str, Any]:
        """Ids, numbers and the question; no memory text."""
        result = self.reranking.result.model_dump(mode="json")
        return {
            "session": self.scene.session,
            "turn": self.turn,
            "query": self.question.query,
            "source": result["source"],
            "cause": result["cause"],
            "ranking": [place["id"] for place in result["ranking"]],
            "scores": [place["score"] for place in result["ranking"]],
            "timings_ms": {step: round(ms, 3) for step, ms in result["timings_ms"].items()},
            "prompt_tokens": result["prompt_tokens"],
            "cached_tokens": result["cached_tokens"],
        }


async def play(
    scene: Scene,
    reranker: Reranker,
    *,
    deadline: float,
    waiting: Callable[[str], AbstractContextManager[object]],
) -> AsyncIterator[Played]:
    """Ask a scene's questions one after the other, each with the conversation so far.

    Args:
        scene: the conversation.
        reranker: open.
        deadline: seconds for each question.
        waiting: entered while an answer is awaited, with what is awaited.
    """
    for position, question in enumerate(scene.turns):
        turn = position + 1
        with waiting(f"{scene.title}: waiting for answer {turn} of {len(scene.turns)}"):
            reranking = await reranker.rerank(
                query=question.query,
                memories=scene.recalled(question),
                user=scene.user,
                session=scene.session,
                turns=scene.conversation(position),
                activity=question.activity,
                deadline=deadline,
                now=question.now,
            )
        yield Played(scene, turn, question, reranking)
