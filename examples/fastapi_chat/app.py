"""A chat turn with FastAPI: `uvicorn examples.fastapi_chat.app:app`."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import AwareDatetime, BaseModel

from examples.assistant import ask_chat_model, origin, recall
from memsift_producer import Reranker
from memsift_schemas import InvalidInput, Turn


class Asked(BaseModel):
    """One turn of a conversation."""

    user: str
    session: str
    question: str
    turns: list[Turn] = []
    now: AwareDatetime | None = None


class Answered(BaseModel):
    """What the model was asked, and where its memories came from."""

    prompt: str
    memories: list[str]
    source: str
    cause: str | None


@contextlib.asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """One reranker per process: opened before the first question, closed after the last."""
    async with Reranker() as reranker:
        app.state.reranker = reranker
        yield


app = FastAPI(title="A chat turn with memsift", lifespan=lifespan)


@app.post("/chat")
async def chat(asked: Asked, request: Request) -> Answered:
    """Recall, choose, ask the model. The choice is there by the deadline, whatever is away."""
    reranker: Reranker = request.app.state.reranker
    reranking = await reranker.rerank(
        query=asked.question,
        memories=recall(asked.user),
        user=asked.user,
        session=asked.session,
        turns=asked.turns,
        now=asked.now,
    )
    chosen = reranking.memories()
    return Answered(
        prompt=ask_chat_model(asked.question, chosen),
        memories=[memory.id for memory in chosen],
        **origin(reranking),
    )


@app.exception_handler(InvalidInput)
async def wrong_input(_request: Request, error: InvalidInput) -> JSONResponse:
    """A question that cannot be asked; the message names the place and repeats no text."""
    return JSONResponse({"error": str(error)}, status_code=422)
