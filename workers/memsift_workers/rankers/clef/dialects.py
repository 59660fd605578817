"""The ways in which servers ask for and answer a rerank request.

Read from the servers' own sources: text-embeddings-inference 1.9 (`router/src/http`), infinity 0.0.76
(`fastapi_schemas/pymodels.py`), vLLM (`entrypoints/pooling/scoring`), SGLang 0.5.23
(`entrypoints/openai/serving_rerank.py`); the form that Cohere's and Jina's clients read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from memsift_workers.rankers.clef.http import Reply
from memsift_workers.runtimes.base import RuntimeGarbage

# Names of JSON members that may stand in a message: long or odd ones could be somebody's text.
_NAME = re.compile(r"[A-Za-z_]{1,24}")
_MOST_NAMES = 8

Body = Callable[[str, Sequence[str], str | None], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Pairs:
    """What came back for one request.

    Attributes:
        scores: one per document, in the order of the request; higher is better.
        tokens: tokens of all pairs; 0 when the server does not say.
        model: the model's name; empty when the server does not say.
    """

    scores: tuple[float, ...]
    tokens: int
    model: str


@dataclass(frozen=True, slots=True)
class Dialect:
    """One form of request and answer.

    Attributes:
        name: in logs and messages.
        body: the request from a query, documents and a model's name.
        bare: the answer is a list, not an object with `results`.
        score: the member that holds a score.
    """

    name: str
    body: Body
    bare: bool
    score: str

    def read(self, reply: Reply, count: int) -> Pairs:
        """Scores by position.

        Args:
            reply: the decoded answer.
            count: how many documents were asked for.

        Raises:
            RuntimeGarbage: not one finite score for every document; says what came, in shape alone.
        """
        rows = reply.json if self.bare else _member(reply.json, "results")
        if not isinstance(rows, list):
            raise RuntimeGarbage(f"no list of scores but {shape(reply.json)}")
        scores: dict[int, float] = {}
        for row in rows:
            index, score = _member(row, "index"), _member(row, self.score)
            if not _is_number(score) or type(index) is not int or not 0 <= index < count:
                raise RuntimeGarbage(f"no index and finite {self.score} but {shape(row)} for {count} texts")
            if index in scores:
                raise RuntimeGarbage(f"index {index} twice")
            scores[index] = float(score)
        if len(scores) != count:
            raise RuntimeGarbage(f"{len(scores)} scores for {count} texts")
        model = _member(reply.json, "model")
        return Pairs(
            tuple(scores[at] for at in range(count)),
            _tokens(reply, rows),
            model if isinstance(model, str) else "",
        )


def _tei(query: str, texts: Sequence[str], _model: str | None) -> dict[str, Any]:
    return {"query": query, "texts": texts, "truncate": True, "raw_scores": False, "return_text": False}


def _documents(query: str, texts: Sequence[str], model: str | None) -> dict[str, Any]:
    named = {"model": model} if model else {}
    return {**named, "query": query, "documents": texts, "top_n": len(texts)}


def _vllm(query: str, texts: Sequence[str], model: str | None) -> dict[str, Any]:
    # -1: to the longest input that the model takes. infinity ignores it and cuts by itself.
    return {**_documents(query, texts, model), "truncate_prompt_tokens": -1}


def _sglang(query: str, texts: Sequence[str], _model: str | None) -> dict[str, Any]:
    return {**_documents(query, texts, None), "return_documents": False}


TEI = Dialect("tei", _tei, bare=True, score="score")
VLLM = Dialect("vllm", _vllm, bare=False, score="relevance_score")
COHERE = Dialect("cohere", _documents, bare=False, score="relevance_score")
SGLANG = Dialect("sglang", _sglang, bare=True, score="score")
DIALECTS = (TEI, VLLM, COHERE, SGLANG)


def shape(value: Any) -> str:
    """What a JSON value looks like, without anything that it says."""
    match value:
        case list() if value:
            return f"a list of {len(value)}, the first {shape(value[0])}"
        case list():
            return "an empty list"
        case dict():
            names = [name if _NAME.fullmatch(name) else "?" for name in sorted(value)[:_MOST_NAMES]]
            return f"an object with {', '.join(names) or 'nothing'}"
        case str():
            return "a text"
        case None:
            return "null"
        case _:
            return f"a {type(value).__name__}"


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


def _is_number(value: Any) -> bool:
    # Finite by itself: orjson refuses NaN and numbers beyond a double.
    return type(value) in {int, float}


def _tokens(reply: Reply, rows: list[Any]) -> int:
    """vLLM, infinity, Jina: `usage`; SGLang: per row; text-embeddings-inference: a header."""
    usage = _member(reply.json, "usage")
    counts = [_member(usage, "prompt_tokens"), _member(usage, "total_tokens")]
    per_row = [_member(_member(row, "meta_info"), "prompt_tokens") for row in rows]
    if per_row and all(type(one) is int for one in per_row):
        counts.append(sum(per_row))
    header = reply.headers.get("x-compute-tokens", "")
    counts.append(int(header) if header.isdecimal() else None)
    return next((count for count in counts if type(count) is int and count >= 0), 0)
