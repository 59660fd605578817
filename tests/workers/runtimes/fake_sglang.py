"""A server that speaks SGLang's wire format without a model, in the test's own event loop.

Its tokenizer makes one token of two characters, from the left, so that a text in two parts has other tokens
than the same text in one. Every token has a log-probability of its own (`logprob`).
"""

import asyncio
import contextlib
import json
import re
from itertools import takewhile

from memsift_workers.runtimes.base import Call, Json, Labels, Likelihood

BOS = 1
MODEL = "fake-model"
NO_LISTS = ("rid", "text", "extra_key", "sampling_params", "return_logprob", "logprob_start_len")


def tokenize(text):
    return [1000 + 31 * ord(pair[0]) + ord(pair[-1]) for pair in re.findall("..?", text, flags=re.DOTALL)]


def logprob(token):
    return -0.5 - token % 89 / 100


def shared(ids, others):
    """How many ids two prompts have in common from the start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ids, others, strict=False)))


class FakeSGLang:
    """An SGLang server, or an sglang-router, which refuses lists and has no /abort_request.

    A test may change `spoil` (from answers to the bytes, or the status, that /generate sends instead), `hang`
    (whether the /generate request with this body is never answered), `answer_from` (no /generate is answered
    before so many have come), `ready` (what /health says) and `models`.
    """

    def __init__(self, *, router=False, bos=False, tokenizes=True):
        self.router, self.bos, self.tokenizes = router, bos, tokenizes
        self.spoil = None
        self.hang = lambda body: False
        self.answer_from = 0
        self.ready = True
        self.models = [{"id": MODEL, "parent": None}]
        self.generated, self.tokenized, self.aborted, self.headers = [], [], [], []
        self.left = 0  # connections that the client closed while it was owed an answer
        self._seen = {}
        self._tasks = set()

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *exc):
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader, writer):
        self._tasks.add(asyncio.current_task())
        try:
            with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
                while True:
                    await self._one(reader, writer)
        finally:
            self._tasks.discard(asyncio.current_task())
            writer.close()

    async def _one(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        body = json.loads(await reader.readexactly(int(length[1]))) if length else None
        path = head.split()[1]
        self.headers.append(head)
        status, answer = self._answer(path, body)
        if path == "/generate" and self.hang(body):
            await reader.read(1)  # returns when the client goes away
            self.left += 1
            return
        while path == "/generate" and len(self.generated) < self.answer_from:
            await asyncio.sleep(0.01)
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content)
        await writer.drain()

    def _answer(self, path, body):
        match path:
            case "/health":
                return (200 if self.ready else 503), b""
            case "/v1/models":
                return 200, {"data": self.models}
            case "/v1/tokenize" if self.tokenizes:
                return self._tokenize(body)
            case "/abort_request" if not self.router:
                self.aborted.append(body["rid"])
                return 200, b""
            case "/generate":
                return self._generate(body)
        return 404, {"detail": "Not Found"}

    def _tokenize(self, body):
        if body["model"] not in {entry["id"] for entry in self.models}:
            return 400, {"error": "no such tokenizer"}
        self.tokenized += body["prompt"]
        start = [BOS] if self.bos and body["add_special_tokens"] else []
        return 200, {"tokens": [start + tokenize(text) for text in body["prompt"]]}

    def _generate(self, body):
        nested = any(isinstance(one, list) for one in body.get("token_ids_logprob") or [])
        if self.router and (nested or any(isinstance(body.get(name), list) for name in NO_LISTS)):
            return 422, b"invalid type: sequence"
        self.generated.append(body)
        if "text" in body:
            start = [BOS] if self.bos else []
            return 200, self._complete(start + tokenize(body["text"]), body.get)

        def of(at):
            def value(name):
                given = body[name]
                listed = isinstance(given, list) and (name != "token_ids_logprob" or nested)
                return given[at] if listed else given

            return value

        answers = [self._complete(ids, of(at)) for at, ids in enumerate(body["input_ids"])]
        if self.spoil is None:
            return 200, answers
        spoiled = self.spoil(answers)
        return (spoiled, b"{}") if isinstance(spoiled, int) else (200, spoiled)

    def _complete(self, ids, value):
        seen = self._seen.setdefault(value("extra_key"), [])
        cached = max((shared(ids, old) for old in seen), default=0)
        seen.append(ids)
        start = value("logprob_start_len")
        limit = len(ids) - 1 if start < 0 else min(start, len(ids) - 1)
        new = value("sampling_params")["max_new_tokens"]
        meta = {
            "finish_reason": {"type": "length", "length": new},
            "prompt_tokens": len(ids),
            "cached_tokens": min(cached, limit),
            "completion_tokens": new,
        }
        if value("return_logprob"):
            scored = [[logprob(one), one, None] for one in ids[start:]] if start >= 0 else []
            if scored:
                scored[0][0] = None
            meta["input_token_logprobs"] = scored
            wanted = value("token_ids_logprob") if start < 0 else []
            meta["output_token_ids_logprobs"] = [[[logprob(one), one, None] for one in wanted]]
        schema = value("sampling_params").get("json_schema")
        return {"text": f'{{"schema_of": {len(schema)}}}' if schema else "", "meta_info": meta}


SCHEMA = {"type": "object"}
MIXED = [
    Call(("abc",), "def", Likelihood(), "ann"),
    Call(("abc",), "xy", Labels(("Y", "N")), "bob"),
    Call(("long prefix",), "go", Json(SCHEMA, max_tokens=7), "ann"),
    Call(("abcde",), "def", Likelihood(), "ann"),
]


def check_mixed(answers):
    """Make sure that these are the answers to `MIXED`."""
    assert answers[0].logprobs == tuple(logprob(one) for one in tokenize("def"))
    assert answers[1].logprobs == (logprob(tokenize("Y")[0]), logprob(tokenize("N")[0]))
    assert json.loads(answers[2].text) == {"schema_of": len(json.dumps(SCHEMA, separators=(",", ":")))}
    assert answers[3].logprobs == answers[0].logprobs
    assert [answer.output_tokens for answer in answers] == [0, 1, 7, 0]
    assert [answer.prompt_tokens for answer in answers] == [4, 3, 7, 5]
