"""Runtime over HTTP: any SGLang 0.5.23 server, or an sglang-router in front of several."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from typing import Any

from memsift_workers.egress import check_url
from memsift_workers.runtimes.base import (
    Answer,
    Call,
    Labels,
    Likelihood,
    RuntimeGarbage,
    RuntimeMisconfigured,
    RuntimeTimeout,
    RuntimeUnavailable,
)
from memsift_workers.runtimes.labels import usable
from memsift_workers.runtimes.sglang_http import SGLangHttp
from memsift_workers.runtimes.sglang_tokens import ServerTokenizer
from memsift_workers.runtimes.sglang_waves import waves
from memsift_workers.runtimes.sglang_wire import Prompt, Request, parse, plan

CONNECT_SECONDS = 1.0
"""A server in the same network answers a SYN in milliseconds or is away."""
START_SECONDS = 60.0
"""For health, model name and warm-up together; loading a model is the server's own start."""
HEALTH_INTERVAL = 0.5
"""Seconds between two looks at a server that is still loading."""

log = logging.getLogger("memsift.worker")


class SGLangRuntime:
    """Sends each batch as one `/generate` request with a list of prompts, or two (`sglang_waves`).

    The `namespace` of a call goes out as `extra_key`, which SGLang makes part of the prefix cache's key.
    When `run` times out or its task is cancelled, the server is told to drop the work.

    A server should be started with `--constrained-json-disable-any-whitespace`: without it a small model can
    fill a `Json` wish's tokens with line breaks that the schema allows.

    Args:
        base_url: e.g. `http://127.0.0.1:30000`.
        model: the name it must be served under; None takes the only one that there is.
        api_key: the server's `--api-key`.
        connect_timeout: seconds to open a connection.
        start_timeout: seconds for the whole of `start`.
        allow_egress: whether the server may be at a public address.
    """

    name = "sglang"

    def __init__(
        self,
        base_url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        connect_timeout: float = CONNECT_SECONDS,
        start_timeout: float = START_SECONDS,
        allow_egress: bool = False,
    ) -> None:
        self.model = model or ""
        self._start_timeout = start_timeout
        self._allow_egress = allow_egress
        self._http = SGLangHttp(
            base_url, api_key=api_key, connect_timeout=connect_timeout, allow_egress=allow_egress
        )
        self._tokenizer = ServerTokenizer(self._http)
        self._lists = True

    async def start(self) -> None:
        """Wait until the server is healthy, learn its model's name and habits, and warm it.

        Raises:
            EgressRefused: it is at a public address, and nobody has allowed that.
            RuntimeMisconfigured: it serves another model, or cannot give log-probabilities.
            RuntimeUnavailable: it was not healthy within `start_timeout`.
        """
        await check_url(self._http.base_url, allowed=self._allow_egress)
        try:
            async with asyncio.timeout(self._start_timeout):
                self.model = await self._served_model()
                await self._tokenizer.probe(self.model)
                await self._warm_up()
        except TimeoutError:
            raise RuntimeUnavailable(
                f"{self._http.base_url} was not ready within {self._start_timeout:g} s"
            ) from None

    async def reach(self) -> None:
        """See `Reachable`. Costs the model nothing: a busy server is not taken for one that is away."""
        if self.model not in (names := await self._model_names()):
            raise RuntimeUnavailable(f"{self._http.base_url} serves {names} instead of {self.model}")

    async def usable_labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """See `Runtime.usable_labels`."""
        try:
            async with asyncio.timeout(self._start_timeout):
                ids = await self._tokenizer.encode(dict.fromkeys(labels, ""))
        except TimeoutError:
            raise RuntimeTimeout(f"no tokens of the labels within {self._start_timeout:g} s") from None
        return usable({label: ids[label] for label in labels})

    async def run(self, calls: Sequence[Call], *, timeout: float) -> list[Answer]:
        """See `Runtime.run`."""
        if not calls:
            return []
        try:
            async with asyncio.timeout(timeout):
                return await self._answer(await self._tokenize(calls))
        except TimeoutError:
            raise RuntimeTimeout(f"{len(calls)} prompts were not answered within {timeout:.3f} s") from None

    async def close(self) -> None:
        """See `Runtime.close`."""
        await self._http.close()

    async def _served_model(self) -> str:
        """Wait for a healthy server that has a model; a router has none until a worker has registered."""
        names: list[str] = []
        told = False
        while not names:
            try:
                await self._http.check_health()
                names = await self._model_names()
            except RuntimeUnavailable as fault:
                if not told:
                    log.warning("no jobs are taken before the model's server answers: %s", fault)
                told = True
                await asyncio.sleep(HEALTH_INTERVAL)
        if self.model in names:
            return self.model
        if self.model or len(names) != 1:
            wanted = self.model or "exactly one, or the name of the one to use"
            raise RuntimeMisconfigured(f"{self._http.base_url} serves {names}; wanted: {wanted}")
        return names[0]

    async def _model_names(self) -> list[str]:
        reply = await self._http.get("/v1/models")
        try:
            # What has a parent is a LoRA adapter of another entry.
            return [str(entry["id"]) for entry in reply["data"] if entry.get("parent") is None]
        except (KeyError, TypeError, AttributeError):
            raise RuntimeGarbage("/v1/models gave no list of models") from None

    async def _warm_up(self) -> None:
        """Score two short prompts of different shape, and learn whether one request may mix them."""
        calls = [Call(("Hello",), " world", Likelihood()), Call(("Hello", " you"), " world", Likelihood())]
        prompts = await self._tokenize(calls)
        try:
            await self._generate(prompts)
        except RuntimeMisconfigured:
            self._lists = False
            await self._generate(prompts)
            log.info(
                "%s takes one setting per request (sglang-router): a batch goes out as several requests",
                self._http.base_url,
            )

    async def _tokenize(self, calls: Sequence[Call]) -> list[Prompt]:
        texts: dict[str, str] = {}
        for call in calls:
            labels = call.wish.labels if isinstance(call.wish, Labels) else ()
            for text in (*call.prefix, call.suffix, *labels):
                texts.setdefault(text, call.namespace)
        ids = await self._tokenizer.encode(texts)
        return [self._prompt(call, ids) for call in calls]

    def _prompt(self, call: Call, ids: dict[str, list[int]]) -> Prompt:
        pieces = [ids[piece] for piece in call.prefix] or [[]]
        bos = self._tokenizer.bos
        if pieces[0][: len(bos)] != bos:  # a chat template may begin with the BOS as text
            pieces[0] = bos + pieces[0]
        labels = []
        for label in call.wish.labels if isinstance(call.wish, Labels) else ():
            if len(ids[label]) != 1:
                raise RuntimeMisconfigured(f"label {label!r} is no single token of {self.model}")
            labels += ids[label]
        prefix = [token for piece in pieces for token in piece]
        sizes = tuple(map(len, pieces))
        return Prompt(prefix, ids[call.suffix], call.wish, call.namespace, labels, sizes)

    async def _answer(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """In one request, or two where prompts begin alike; the first fault ends it."""
        answers: dict[int, Answer] = {}
        for wave in waves(prompts):
            answers.update(zip(wave, await self._generate([prompts[at] for at in wave]), strict=True))
        return [answers[position] for position in range(len(prompts))]

    async def _generate(self, prompts: Sequence[Prompt]) -> list[Answer]:
        """Send the batch; the first fault of any request ends all of them."""
        requests = plan(prompts, lists=self._lists)
        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._request(request, prompts)) for request in requests]
        except ExceptionGroup as faults:
            raise faults.exceptions[0] from None
        answers: dict[int, Answer] = {}
        for request, task in zip(requests, tasks, strict=True):
            answers.update(zip(request.positions, task.result(), strict=True))
        return [answers[position] for position in range(len(prompts))]

    async def _request(self, request: Request, prompts: Sequence[Prompt]) -> list[Answer]:
        # The router takes one string; the server makes `rid_0`, `rid_1`, ... of it, one per prompt.
        rid = f"memsift-{uuid.uuid4().hex}"
        body: dict[str, Any] = {"rid": rid, "model": self.model, **request.body}
        try:
            reply = await self._http.post("/generate", body)
        except asyncio.CancelledError:
            self._http.abort([f"{rid}_{at}" for at in range(len(request.positions))])
            raise
        return parse(reply, [prompts[position] for position in request.positions])
