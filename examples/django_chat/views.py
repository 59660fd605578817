"""A chat turn: recall, choose, ask the model. The choice is there by the deadline, whatever is away.

A project with Django's CSRF middleware sends its token along, or exempts a view that reads JSON alone.
"""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, JsonResponse

from examples.assistant import ask_chat_model, origin, recall
from examples.django_chat.reranking import current
from memsift_producer import Reranking
from memsift_producer.process import own_reranker
from memsift_schemas import InvalidInput


async def chat(request: HttpRequest) -> JsonResponse:
    """Under ASGI: the event loop's own reranker is awaited."""
    try:
        asked = _read(request)
        return _answer(asked, await current.reranker.rerank(**_question(asked)))
    except InvalidInput as error:
        return _refusal(error)


def chat_sync(request: HttpRequest) -> JsonResponse:
    """Under WSGI: all threads of the process share one, which is opened after the fork."""
    try:
        asked = _read(request)
        return _answer(asked, own_reranker().rerank(**_question(asked)))
    except InvalidInput as error:
        return _refusal(error)


def _read(request: HttpRequest) -> dict[str, Any]:
    try:
        asked = json.loads(request.body)
        return {name: asked[name] for name in ("user", "session", "question")} | {
            "turns": asked.get("turns", [])
        }
    except (ValueError, KeyError, AttributeError, TypeError):
        raise InvalidInput("body: must be JSON with user, session, question and, if any, turns") from None


def _question(asked: dict[str, Any]) -> dict[str, Any]:
    return {
        "query": asked["question"],
        "memories": recall(asked["user"]),
        "user": asked["user"],
        "session": asked["session"],
        "turns": asked["turns"],
    }


def _answer(asked: dict[str, Any], reranking: Reranking) -> JsonResponse:
    chosen = reranking.memories()
    return JsonResponse(
        {
            "prompt": ask_chat_model(asked["question"], chosen),
            "memories": [memory.id for memory in chosen],
            **origin(reranking),
        }
    )


def _refusal(error: InvalidInput) -> JsonResponse:
    """What cannot be asked; the message names the place and repeats no text."""
    return JsonResponse({"error": str(error)}, status=422)
