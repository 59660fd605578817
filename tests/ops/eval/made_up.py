"""A small set of our own, rankers whose answers are known, and outcomes without any queue."""

import json

from memsift_ops.evaluation.outcome import Outcome
from memsift_producer import Reranking
from memsift_producer.fallback import Fallback
from memsift_schemas import Cause, Ranked, RerankResult, Source

SECRET = "the spare key is under the flowerpot & <b>nowhere</b> else"
COUNT = 12


def write_set(folder, name="small"):
    """Twelve questions about four memories each; every third one has its gold in the last place."""
    texts = [f"Mara's note number {at}: {SECRET}." for at in range(4)]
    memories = [
        {"id": f"{name}/m{at}", "pool": "p", "text": text, "created_at": "2026-03-02T09:30:00"}
        for at, text in enumerate(texts)
    ]
    ids = [memory["id"] for memory in memories]
    queries = [
        {
            "id": f"q{at:02}",
            "lang": "zh" if at % 2 else "en",
            "category": ("plans", "facts", "people")[at % 3],
            "now": "2026-03-04T00:00:00",
            "query": f"What is note number {at % 4}? {SECRET}",
            "context": [],
            "pool": "p",
            "gold": [ids[3 if at % 3 == 0 else at % 4]],
            "candidates": ids,
            "similarity": [0.9, 0.8, 0.7, 0.6],
        }
        for at in range(COUNT)
    ]
    for kind, rows in (("queries", queries), ("memories", memories)):
        (folder / f"{name}.{kind}.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return folder


def ranking(ids, *, source=Source.MODEL, cause=None, pruned=(), **fields):
    return RerankResult(
        job_id="j",
        ranking=tuple(Ranked(id=key, score=-at) for at, key in enumerate(ids)),
        source=source,
        cause=cause,
        pruned=pruned,
        **fields,
    )


class FakeReranker:
    """Ranker `jev` turns the prefilter's order around; notes number 1 fall back."""

    def __init__(self):
        self.asked = []

    async def rerank(self, *, memories, query, ranker=None, **question):
        self.asked.append((ranker, query, question))
        *kept, last = [memory.id for memory in memories]
        ms = 10.0 + int(query.split("?")[0][-1])
        before = ranking(
            kept, source=Source.PREFILTER, pruned=(last,), timings_ms={"prefilter": 0.5, "total": ms}
        )
        if ranker == "nox":
            result = before.model_copy(update={"cause": Cause.UNKNOWN_RANKER})
        elif ranker is None:
            result = before
        elif query.startswith("What is note number 1?"):
            result = before.model_copy(update={"cause": Cause.DEADLINE})
        else:
            timings = {"rank": 2.0, "total": ms}
            tokens = {"prompt_tokens": 2_000, "cached_tokens": 500, "output_tokens": 10}
            result = ranking(reversed(kept), pruned=(last,), timings_ms=timings, cost_usd=0.0002, **tokens)
        return Reranking(result, Fallback(lambda: before), 3, {memory.id: memory for memory in memories})


def outcome(query, ranked, *, ranker="jev", name="small", **fields):
    return Outcome(set=name, ranker=ranker, query=query, ranking=tuple(ranked), total_ms=10.0, **fields)
