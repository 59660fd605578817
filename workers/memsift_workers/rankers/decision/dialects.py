"""How the servers want to be asked, and how they answer."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memsift_workers.rankers.decision.questions import NO, YES, Question
from memsift_workers.runtimes.base import RuntimeGarbage, RuntimeUnavailable


@dataclass(frozen=True, slots=True)
class Decisions:
    """What came back for one request.

    Attributes:
        values: one probability per question, in their order.
        model: which model answered, if the server says so.
        prompt_tokens: of the whole request, as the server counts them; 0 if it does not.
        output_tokens: likewise.
    """

    values: tuple[float, ...]
    model: str = ""
    prompt_tokens: int = 0
    output_tokens: int = 0


class SystemOne:
    """`POST /v1/systemone`: hosted Jev, a self-hosted Clef, Nox-4B or Laya, SGLang with any chat model."""

    path = "/v1/systemone"

    def body(self, model: str, state: str, asked: Sequence[Question]) -> dict[str, Any]:
        """The request."""
        criteria = {"true": YES, "false": NO}
        return {
            "model": model,
            "state": state,
            "questions": {
                one.id: {"type": "noul", "instructions": one.text, "criteria": criteria} for one in asked
            },
        }

    def probability(self, answer: Mapping[str, Any]) -> Any:
        """Of one answer; not yet checked."""
        return answer["noul"]


class WorkersAI(SystemOne):
    """Clef on Workers AI: the URL names account and model, the answer is wrapped."""

    path = ""


class SGLangDecisions:
    """`POST /v1/decisions` of SGLang 0.5.23: any chat model, `yes_no` questions."""

    path = "/v1/decisions"

    def body(self, model: str, state: str, asked: Sequence[Question]) -> dict[str, Any]:
        """The request."""
        return {
            "model": model,
            "input": state,
            "questions": [
                {"id": one.id, "type": "yes_no", "question": one.text, "yes": YES, "no": NO} for one in asked
            ],
        }

    def probability(self, answer: Mapping[str, Any]) -> Any:
        """Of one answer; not yet checked."""
        return answer["probabilities"]["yes"]


Dialect = SystemOne | SGLangDecisions

DIALECTS: dict[str, Dialect] = {
    "systemone": SystemOne(),
    "workers-ai": WorkersAI(),
    "sglang": SGLangDecisions(),
}


def read(dialect: Dialect, content: bytes, asked: Sequence[Question]) -> Decisions:
    """Read an answer with status 200. Answers that nobody asked for are left aside.

    Raises:
        RuntimeUnavailable: the envelope says that the request failed.
        RuntimeGarbage: it is no JSON, or does not hold one probability for each question.
    """
    data = _unwrap(parse(content))
    try:
        answers = data["answers"]
        values = [dialect.probability(answers[question.id]) for question in asked]
    except (LookupError, TypeError):
        raise RuntimeGarbage("the answer does not hold one probability per question") from None
    if not all(_is_probability(value) for value in values):
        raise RuntimeGarbage("an answer is no number from 0 to 1")
    usage = data.get("usage")
    model = data.get("model")
    return Decisions(
        values=tuple(float(value) for value in values),
        model=model if isinstance(model, str) else "",
        prompt_tokens=_count(usage, "input_tokens", "prompt_tokens"),
        output_tokens=_count(usage, "output_tokens", "completion_tokens"),
    )


def parse(content: bytes) -> Any:
    """JSON, with NaN and infinity, which some servers write, as null.

    Raises:
        RuntimeGarbage: it is none.
    """
    try:
        return json.loads(content, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        raise RuntimeGarbage("the answer is not JSON") from None


def _unwrap(data: Any) -> dict[str, Any]:
    """Take off the envelope of Workers AI: `{result, success, errors, messages}`."""
    if isinstance(data, dict) and "success" in data and "answers" not in data:
        if data["success"] is not True:
            raise RuntimeUnavailable("the server says that the request failed")
        data = data.get("result")
    if not isinstance(data, dict):
        raise RuntimeGarbage("the answer is no object")
    return data


def _is_probability(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _count(usage: Any, *names: str) -> int:
    if isinstance(usage, dict):
        for name in names:
            value = usage.get(name)
            if isinstance(value, int | float) and math.isfinite(value) and value >= 0:
                return int(value)
    return 0
