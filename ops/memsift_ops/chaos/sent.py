"""Messages as a producer sends them, made by the harness where it needs one that no `Reranker` would send."""

from __future__ import annotations

import time

from memsift_ops.chaos import question
from memsift_schemas import message, wire
from memsift_schemas.job import RerankJob

CANDIDATES = 4


def build(call: str, *, queue: str, secret: str, reply_to: str, seconds: float, mark: str = "") -> bytes:
    """One well-formed message.

    Args:
        call: its id, and whose memories these are.
        queue: what it says it is on.
        secret: stands in its texts.
        reply_to: a Redis list.
        seconds: until its deadline.
        mark: stands in its question. Messages with the same mark and call ask the same.
    """
    now = time.time()
    asked = question.ask(call, secret=secret, candidates=CANDIDATES, mark=mark)
    job = RerankJob.model_validate(
        {
            "id": call,
            "user": "made",
            "query": asked["query"],
            "now": asked["now"],
            "candidates": tuple(asked["memories"]),
            "prior": tuple(float(at) for at in range(CANDIDATES, 0, -1)),
            "deadline": now + seconds,
            "sent_at": now,
            "reply_to": reply_to,
        }
    )
    return message.build(job, wire.encode_job(job), queue)
