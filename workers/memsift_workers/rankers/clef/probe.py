"""Which dialect a server speaks: found out by asking it what has one right answer.

That something answers says little. SGLang and vLLM serve a reranker without its template, or a model
without its classification head, and answer well-formed noise (SGLang #19962, vLLM #21681).
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from memsift_workers.rankers.clef.dialects import COHERE, DIALECTS, SGLANG, TEI, VLLM, Dialect
from memsift_workers.rankers.clef.http import KeyRefused, NoSuchPath, RerankHttp, Unreachable
from memsift_workers.runtimes.base import (
    RuntimeFault,
    RuntimeGarbage,
    RuntimeMisconfigured,
    RuntimeUnavailable,
)

log = logging.getLogger("memsift.worker")

# Under which path each server has it: text-embeddings-inference, infinity and vLLM the first, SGLang and Jina
# the second, Cohere the third.
PATHS: tuple[tuple[str, tuple[Dialect, ...]], ...] = (
    ("/rerank", (TEI, VLLM, COHERE)),
    ("/v1/rerank", (SGLANG, VLLM, COHERE)),
    ("/v2/rerank", (VLLM, COHERE)),
)


@dataclass(frozen=True, slots=True)
class Question:
    """Texts of which one answers the query, and the others have nothing to do with it."""

    query: str
    texts: tuple[str, ...]
    right: int


# The right one stands elsewhere each time: scores at random pass in 1 of 125 cases, scores by position never.
QUESTIONS = (
    Question(
        "Where is the spare key to the cabin?",
        (
            "[2025-01-07] The evening train leaves at nine.",
            "[2025-02-11] Tomatoes need a lot of sun and water.",
            "[2025-03-02] He has played the violin since school.",
            "[2025-03-09] The spare key to the cabin is under the blue flowerpot.",
            "[2025-04-20] The meeting was moved to Thursday.",
        ),
        right=3,
    ),
    Question(
        "Which food is Anna allergic to?",
        (
            "[2025-01-15] The car needs new winter tyres.",
            "[2025-02-01] Anna is allergic to hazelnuts and other nuts in food.",
            "[2025-02-19] The museum is closed on Mondays.",
            "[2025-05-05] Rain is expected for the whole weekend.",
            "[2025-06-30] The printer on the second floor is broken.",
        ),
        right=1,
    ),
    Question(
        "What is the name of the dog?",
        (
            "[2025-01-03] The lease of the flat ends in August.",
            "[2025-01-22] She is learning to bake bread.",
            "[2025-03-17] The bicycle has a flat tyre.",
            "[2025-04-04] Interest rates went up again.",
            "[2025-07-12] The name of the dog is Bruno.",
        ),
        right=4,
    ),
)


class WrongRanking(RuntimeGarbage):
    """A whole answer in the right form, in which wrong texts are better than right ones."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where and how to ask, and which model answers."""

    path: str
    dialect: Dialect
    model: str


async def find_endpoint(http: RerankHttp, *, model: str | None) -> Endpoint:
    """Try paths and dialects until one gives the right answers.

    Args:
        http: the server.
        model: the model to ask for, where a dialect names one.

    Raises:
        RuntimeUnavailable: it is away, or answered 429 or 5xx somewhere and nowhere with a ranking.
        RuntimeMisconfigured: it answers, but not rightly; says what came, in shape.
    """
    faults: list[RuntimeFault] = []
    tried: list[str] = []
    for path, dialects in _paths(http):
        for dialect in dialects:
            try:
                answered_by = await _check(http, path, dialect, model)
            except (KeyRefused, Unreachable):
                raise
            except RuntimeFault as fault:
                faults.append(fault)
                tried.append(f"{path} as {dialect.name}: {fault}")
                if isinstance(fault, NoSuchPath):
                    break
            else:
                name = model or answered_by or await _ask_name(http) or dialect.name
                log.info("%s%s speaks the %s dialect (%s)", http.shown, path, dialect.name, name)
                return Endpoint(path, dialect, name)
    said = f"{http.shown} gave no right ranking (MEMSIFT_CLEF_URL, MEMSIFT_CLEF_MODEL?): {'; '.join(tried)}"
    ranked_wrongly = any(isinstance(fault, WrongRanking) for fault in faults)
    if not ranked_wrongly and any(isinstance(fault, RuntimeUnavailable) for fault in faults):
        raise RuntimeUnavailable(said)
    raise RuntimeMisconfigured(said)


async def check_length(http: RerankHttp, endpoint: Endpoint, *, model: str | None, most: int) -> None:
    """Make sure that the server takes a pair of the longest kind that it will be sent.

    A Chinese character is about a token, an English one a quarter of one: where only Chinese is too long,
    shorter memories are still ranked, and the log says so.

    Args:
        http: the server.
        endpoint: what `find_endpoint` gave.
        model: as there.
        most: characters of query and text together.

    Raises:
        RuntimeUnavailable: it is away.
        RuntimeMisconfigured: it refuses the length, and says nothing of cutting.
    """
    for language, sentence in (
        ("English", "The boat is in the old harbour. "),
        ("Chinese", "船停在旧港口里。"),
    ):
        query = sentence.strip()
        text = (sentence * (most // len(sentence) + 1))[: most - len(query)]
        try:
            reply = await http.send("POST", endpoint.path, endpoint.dialect.body(query, (text,), model))
            endpoint.dialect.read(reply, 1)
        except (RuntimeMisconfigured, RuntimeGarbage) as fault:
            refused = (
                f"{http.shown} takes no {most} characters of {language} (MEMSIFT_CLEF_MAX_CHARS): {fault}"
            )
            if language == "English":
                raise RuntimeMisconfigured(refused) from None
            log.warning("%s; jobs with such memories fall back", refused)


def _paths(http: RerankHttp) -> Iterator[tuple[str, tuple[Dialect, ...]]]:
    if http.path.endswith("rerank"):
        yield http.path, DIALECTS
    else:
        for path, dialects in PATHS:
            yield http.path + path, dialects


async def _check(http: RerankHttp, path: str, dialect: Dialect, model: str | None) -> str:
    """The model's name, where the answers hold it."""
    wrong, answered_by = 0, ""
    for question in QUESTIONS:
        reply = await http.send("POST", path, dialect.body(question.query, question.texts, model))
        pairs = dialect.read(reply, len(question.texts))
        best = max(pairs.scores)
        # A tie for the best is no answer.
        wrong += [at for at, score in enumerate(pairs.scores) if score == best] != [question.right]
        answered_by = pairs.model
    if wrong:
        raise WrongRanking(
            f"one finite score per text, but the best was not the right text in {wrong} of "
            f"{len(QUESTIONS)} questions (no reranker, or its template or head is missing)"
        )
    return answered_by


async def _ask_name(http: RerankHttp) -> str:
    """text-embeddings-inference tells its model under `/info`, SGLang under `/v1/models`."""
    root = http.path.removesuffix("/rerank").removesuffix("/v1")
    for path in ("/info", "/v1/models"):
        with contextlib.suppress(RuntimeFault):
            name = _name_in((await http.send("GET", root + path)).json)
            if name:
                return name
    return ""


def _name_in(told: Any) -> str:
    match told:
        case {"model_id": str(name)} | {"data": [{"id": str(name)}, *_]}:
            return name
        case _:
            return ""
