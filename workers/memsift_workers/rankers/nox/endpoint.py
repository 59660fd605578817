"""One OpenAI-compatible endpoint: what it refuses, what its errors mean, and when it is asked again."""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from memsift_workers.egress import EgressRefused, client_options
from memsift_workers.rankers.nox.completion import Completion, read_completion
from memsift_workers.rankers.retrying import Busy, Retrying, stated_wait
from memsift_workers.runtimes.base import (
    RuntimeFault,
    RuntimeGarbage,
    RuntimeMisconfigured,
    RuntimeUnavailable,
)

try:
    import httpx2
    import openai
except ModuleNotFoundError:
    raise RuntimeMisconfigured("the ranker nox needs the openai client: pip install 'memsift[nox]'") from None

MOST_BYTES = 1 << 20
"""Of one answer; a thousand times what a ranking takes."""
# What a 400 may be about that can be asked for differently. Newer OpenAI models take no temperature but
# their own and only `max_completion_tokens`; some servers know `max_tokens` alone, or no JSON schema.
_ADAPTABLE = ("temperature", "max_completion_tokens")
_SCHEMA = "response_format"
_REFUSED_REQUEST = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
_TRY_AGAIN = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_MANY_REQUESTS})


class ChatEndpoint:
    """Asks one model for JSON, through the official client.

    What the endpoint has refused (`json_schema`, `temperature`, `max_completion_tokens`) is remembered once
    the request without it has worked, and not sent again.

    Args:
        url: the API's base, e.g. `https://api.openai.com/v1`.
        api_key: sent as a bearer token.
        model: the name that the endpoint gives it.
        allow_egress: whether the endpoint may be at a public address.
    """

    def __init__(self, url: str, *, api_key: str | None, model: str, allow_egress: bool = False) -> None:
        # Older releases of the client (3.0) write whole requests, and so memories, into their debug log.
        logging.getLogger("openai").setLevel(logging.INFO)
        self._client = openai.AsyncOpenAI(
            base_url=url,
            # A key in the environment belongs to OpenAI and must not reach whatever server this is.
            api_key=api_key or "none",
            max_retries=0,
            timeout=None,  # the caller bounds the whole call
            http_client=httpx2.AsyncClient(timeout=None, **client_options(allowed=allow_egress)),
        )
        self._model = model
        self._retrying = Retrying()
        self._refused: frozenset[str] = frozenset()

    @property
    def url(self) -> str:
        """The base URL that requests really go to."""
        return str(self._client.base_url)

    async def ask(
        self, messages: list[dict[str, str]], *, schema: dict[str, Any], max_tokens: int, ends_at: float
    ) -> Completion:
        """One completion, at temperature 0.

        Args:
            messages: roles and contents; the word JSON is in them, which JSON mode asks for.
            schema: of the answer, for endpoints that can hold the model to it.
            max_tokens: the most that is generated.
            ends_at: loop time after which nobody waits; the caller's own timeout bounds the call.

        Raises:
            RuntimeFault: a subclass that says what to do.
        """
        request = {"model": self._model, "messages": messages}
        refused = self._refused
        while True:
            body = request | _options(schema, max_tokens, refused)
            try:
                content = await self._retrying.call(functools.partial(self._send, body), ends_at=ends_at)
            except _Refused as refusal:
                more = refusal.about if refusal.about in _ADAPTABLE else _SCHEMA
                if more in refused:
                    raise RuntimeMisconfigured(str(refusal)) from None
                refused |= {more}
            else:
                self._refused |= refused
                return read_completion(content)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()

    async def _send(self, body: dict[str, Any]) -> bytes:
        content = bytearray()
        try:
            async with self._client.chat.completions.with_streaming_response.create(**body) as answer:
                async for chunk in answer.iter_bytes():
                    content += chunk
                    if len(content) > MOST_BYTES:
                        raise RuntimeGarbage("the endpoint's answer does not end")
        except openai.APIStatusError as error:
            raise _fault(error) from None
        except (openai.APIConnectionError, httpx2.HTTPError) as error:
            if isinstance(error.__cause__, EgressRefused):
                raise error.__cause__ from None
            raise Busy(f"the endpoint does not answer ({type(error).__name__})") from None
        except openai.OpenAIError as error:
            raise RuntimeGarbage(f"the endpoint's answer cannot be read ({type(error).__name__})") from None
        return bytes(content)


class _Refused(RuntimeFault):
    """HTTP 400 or 422; `about` is the parameter that the endpoint says it dislikes."""

    def __init__(self, message: str, about: str | None) -> None:
        super().__init__(message)
        self.about = about


def _options(schema: dict[str, Any], max_tokens: int, refused: frozenset[str]) -> dict[str, Any]:
    limit = "max_tokens" if "max_completion_tokens" in refused else "max_completion_tokens"
    options: dict[str, Any] = {limit: max_tokens}
    if "temperature" not in refused:
        options["temperature"] = 0
    if _SCHEMA in refused:
        options[_SCHEMA] = {"type": "json_object"}
    else:
        wanted = {"name": "ranking", "strict": True, "schema": schema}
        options[_SCHEMA] = {"type": "json_schema", "json_schema": wanted}
    return options


def _fault(error: openai.APIStatusError) -> RuntimeFault:
    """What a status means. The body is left out: an endpoint may quote the prompt in it."""
    status = error.status_code
    said = f"the endpoint answered HTTP {status}"
    if status in _REFUSED_REQUEST:
        return _Refused(said, error.param)
    if error.code == "insufficient_quota":
        return RuntimeUnavailable(f"{said}: the account's quota is used up")
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _TRY_AGAIN:
        headers: Mapping[str, str] = error.response.headers
        return Busy(said, after=stated_wait(headers))
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return RuntimeMisconfigured(f"{said}: check MEMSIFT_NOX_API_KEY")
    return RuntimeMisconfigured(f"{said}: check MEMSIFT_NOX_URL and MEMSIFT_NOX_MODEL")
