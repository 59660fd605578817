"""Token ids without a local tokenizer: the server is asked, and what it said is kept.

Prefix and suffix are tokenized apart and joined as ids, so that the border between them is a token border
and the ids of a prefix are the same for every suffix. Special tokens are never added to a part; the model's
BOS, if its tokenizer adds one, is put once before the prefix.

Two ways, chosen by `probe`:

- `/v1/tokenize`. A server always has it. An sglang-router has its own, if it can read the model's tokenizer
  (it needs the model's files or `--tokenizer-path`).
- Where that fails: `/generate` with no new token and `logprob_start_len` 0, whose log-probabilities carry the
  ids of the prompt. That is one forward pass per new text; in the caller's namespace, so that a prefix's pass
  fills the cache which the real request then finds.
"""

from __future__ import annotations

import asyncio
import logging
from array import array
from collections import OrderedDict
from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from memsift_workers.runtimes.base import RuntimeGarbage, RuntimeMisconfigured
from memsift_workers.runtimes.sglang_http import SGLangHttp

MAX_CACHED_TOKENS = 2_000_000
"""About 20 MB with the texts: 20,000 memories of 100 tokens, or the decks of a few hundred sessions."""
PROBES = 4
PROBE_INTERVAL = 0.5
"""Seconds. A router knows its worker's tokenizer a moment after the worker itself (0.1 s measured)."""

log = logging.getLogger("memsift.worker")


class TokenCache:
    """Least-recently-used cache from text to token ids, bounded by the number of ids in it."""

    def __init__(self, max_tokens: int = MAX_CACHED_TOKENS) -> None:
        self._max = max_tokens
        self._held = 0
        self._ids: OrderedDict[str, array[int]] = OrderedDict()

    def get(self, text: str) -> list[int] | None:
        """The ids of a text, which thereby becomes the most recently used one."""
        ids = self._ids.get(text)
        if ids is None:
            return None
        self._ids.move_to_end(text)
        return ids.tolist()

    def put(self, text: str, ids: list[int]) -> None:
        """Keep the ids of a new text; the longest unused texts make room for it."""
        if text in self._ids:
            return
        self._ids[text] = array("i", ids)
        self._held += len(ids)
        while self._held > self._max:
            _, oldest = self._ids.popitem(last=False)
            self._held -= len(oldest)


class ServerTokenizer:
    """Gives token ids of texts; one request for all that are new."""

    def __init__(self, http: SGLangHttp) -> None:
        self._http = http
        self._cache = TokenCache()
        self._by_generate = False
        self._model = ""
        self.bos: list[int] = []

    async def probe(self, model: str) -> None:
        """Find out how this server tokenizes and which ids it puts before every text.

        Args:
            model: the name that it serves the model under.

        Raises:
            RuntimeFault: neither way works.
        """
        self._model = model
        for _ in range(PROBES):
            try:
                plain, special = [(await self._tokenize(["a"], special=add))[0] for add in (False, True)]
            except RuntimeMisconfigured:
                await asyncio.sleep(PROBE_INTERVAL)
            else:
                # Some tokenizers add an end token too, so the length alone does not tell.
                starts = (at for at in range(len(special)) if special[at : at + len(plain)] == plain)
                self.bos = special[: next(starts, 0)]
                return
        log.warning(
            "%s cannot tokenize for %s: token ids are read from /generate, one request per new text",
            self._http.base_url,
            model,
        )
        self._by_generate = True
        both = await asyncio.gather(self._generate("a", ""), self._generate("b", ""))
        shared = takewhile(lambda pair: pair[0] == pair[1], zip(*both, strict=False))
        self.bos = [first for first, _ in shared]

    async def encode(self, texts: Mapping[str, str]) -> dict[str, list[int]]:
        """Ids of each text, without special tokens.

        Args:
            texts: text -> the namespace in which the server may keep its KV.

        Raises:
            RuntimeFault: the server did not give them.
        """
        ids: dict[str, list[int]] = {"": []}
        new = []
        for text in texts:
            known = [] if not text else self._cache.get(text)
            if known is None:
                new.append(text)
            else:
                ids[text] = known
        if new:
            if self._by_generate:
                raw = await asyncio.gather(*(self._generate(text, texts[text]) for text in new))
                fresh = [one[len(self.bos) :] for one in raw]
            else:
                fresh = await self._tokenize(new, special=False)
            for text, tokens in zip(new, fresh, strict=True):
                self._cache.put(text, tokens)
                ids[text] = tokens
        return ids

    async def _tokenize(self, texts: list[str], *, special: bool) -> list[list[int]]:
        body = {"model": self._model, "prompt": texts, "add_special_tokens": special}
        reply = await self._http.post("/v1/tokenize", body)
        tokens = reply.get("tokens") if isinstance(reply, dict) else None
        if not isinstance(tokens, list) or len(tokens) != len(texts):
            raise RuntimeGarbage("/v1/tokenize gave another count of texts than it was sent")
        return [_ids(one) for one in tokens]

    async def _generate(self, text: str, namespace: str) -> list[int]:
        body = {
            "model": self._model,
            "text": text,
            "extra_key": namespace,
            "sampling_params": {"temperature": 0.0, "max_new_tokens": 0},
            "return_logprob": True,
            "logprob_start_len": 0,
        }
        reply = await self._http.post("/generate", body)
        try:
            return _ids([entry[1] for entry in reply["meta_info"]["input_token_logprobs"]])
        except (KeyError, IndexError, TypeError):
            raise RuntimeGarbage("/generate gave no token ids of its prompt") from None


def _ids(value: Any) -> list[int]:
    if not isinstance(value, list) or not all(isinstance(one, int) for one in value):
        raise RuntimeGarbage("the server gave token ids that are none")
    return value
