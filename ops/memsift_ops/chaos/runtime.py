"""A fake SGLang server without a model, in a process of its own: slow, wrong or dead as it is told.

    python -m memsift_ops.chaos.runtime PORT FILE '{"prompt_ms": 80, "lanes": 16, "mode": "ok"}'

One token is one character, so every letter is a label and a prompt can be read back. A label's
log-probability and a scorecard's ranking depend on the prompt alone; one with `question.DEADLY` in it ends
the process.
`POST /control` takes the same JSON as the command line. Modes:
`ok`; `wrong` answers `/generate` with one of many kinds of nonsense; `dead` answers 503; `hang` never does.
FILE gets one JSON line per request: prompts and model time, and what part of it was spent in vain.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
import zlib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from memsift_ops.chaos import http
from memsift_ops.chaos.lanes import Lanes, Spent
from memsift_ops.chaos.question import DEADLY, deadline_of

MODEL = "chaos"
NONSENSE = (b"no json", b"[]", b"{}", b"null", b"[null]", b"<html>", b'[{"meta_info": {}}]', b"NaN")


def die() -> None:
    """As a crash does: at once, without a word to anybody."""
    os.kill(os.getpid(), signal.SIGKILL)


class Server:
    """What answers.

    Args:
        kept: the record.
        told: the JSON of the control endpoint.
        die: what a deadly prompt does.
    """

    def __init__(self, kept: Path, told: dict[str, Any], die: Callable[[], None] = die) -> None:
        self._kept = kept
        self._die = die
        self._told: dict[str, Any] = {"prompt_ms": 0.0, "lanes": 16, "mode": "ok", "ahead_s": 0.0}
        self._lanes = Lanes(1, 0)
        self._tell(told)

    async def answer(self, asked: http.Asked) -> tuple[int, bytes]:
        """One request's status and body."""
        if asked.path == "/control":
            self._tell(orjson.loads(asked.body))
            return 200, b"{}"
        if self._told["mode"] == "dead":
            return 503, b""
        status, reply = 200, b""
        match asked.path:
            case "/health":
                pass
            case "/v1/models":
                reply = orjson.dumps({"data": [{"id": MODEL, "parent": None}]})
            case "/v1/tokenize":
                texts = orjson.loads(asked.body)["prompt"]
                reply = orjson.dumps({"tokens": [[ord(char) for char in text] for text in texts]})
            case "/abort_request":
                self._lanes.abort(orjson.loads(asked.body)["rid"])
            case "/generate":
                reply = await self._generate(orjson.loads(asked.body))
            case _:
                status = 404
        return status, reply

    def _tell(self, told: dict[str, Any]) -> None:
        self._told.update(told)
        self._lanes = Lanes(self._told["lanes"], self._told["prompt_ms"], self._clock)

    def _clock(self) -> float:
        # `ahead_s` is the fault that makes the check of vain model time fail.
        return time.time() + float(self._told["ahead_s"])

    async def _generate(self, body: dict[str, Any]) -> bytes:
        if self._told["mode"] == "hang":
            await asyncio.Event().wait()
        prompts = ["".join(map(chr, ids)) for ids in body["input_ids"]]
        if any(DEADLY in prompt for prompt in prompts):
            self._die()
        deadlines = {f"{body['rid']}_{at}": deadline_of(prompt) for at, prompt in enumerate(prompts)}
        spent = Spent()
        try:
            whole = await self._lanes.serve(deadlines, spent)
        finally:
            with self._kept.open("a") as file:
                file.write(json.dumps({"at": time.time(), **asdict(spent)}) + "\n")
        if self._told["mode"] == "wrong":
            return NONSENSE[zlib.crc32(body["rid"].encode()) % len(NONSENSE)]
        if not whole:
            return orjson.dumps([{"meta_info": {"finish_reason": {"type": "abort"}}}] * len(prompts))
        return orjson.dumps([_completed(body, at, prompt) for at, prompt in enumerate(prompts)])


def _completed(body: dict[str, Any], at: int, prompt: str) -> dict[str, Any]:
    ids, start = body["input_ids"][at], body["logprob_start_len"]
    start = start[at] if isinstance(start, list) else start
    labels = body["token_ids_logprob"] or []
    labels = labels[at] if labels and isinstance(labels[0], list) else labels
    mark = zlib.crc32(prompt.encode("utf-8", "surrogatepass"))

    def logprob(token: int) -> float:
        return -0.1 - zlib.crc32(b"%d %d" % (mark, token)) % 1000 / 100

    return {
        "text": _card(body["sampling_params"], at, mark),
        "meta_info": {
            "finish_reason": {"type": "length", "length": 1},
            "prompt_tokens": len(ids),
            "cached_tokens": 0,
            "completion_tokens": 1,
            "input_token_logprobs": [[logprob(one), one, None] for one in ids[start:]] if start >= 0 else [],
            "output_token_ids_logprobs": [[[logprob(one), one, None] for one in labels]],
        },
    }


def _card(sampling: Any, at: int, mark: int) -> str:
    """A scorecard where one is wished: the ids of its schema, from one on that the prompt decides."""
    schema = (sampling[at] if isinstance(sampling, list) else sampling).get("json_schema")
    if not schema:
        return ""
    ranking = orjson.loads(schema)["properties"]["ranking"]
    names = ranking["items"]["enum"]
    first = mark % len(names)
    named = (names[first:] + names[:first])[: ranking["maxItems"]]
    return orjson.dumps({"ranking": named, "reason": "chaos"}).decode()


if __name__ == "__main__":
    asyncio.run(http.serve(int(sys.argv[1]), Server(Path(sys.argv[2]), json.loads(sys.argv[3])).answer))
