"""From a request's bytes to what was asked, within limits of size and time."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import TypeVar

from pydantic import BaseModel, ValidationError
from starlette.types import Receive

from memsift_producer.gateway.problems import Invalid, Malformed, NotJson, TooLarge, TooSlow
from memsift_schemas.errors import describe

M = TypeVar("M", bound=BaseModel)

# A client that takes longer to send its body holds memory for nothing.
BODY_WITHIN_S = 10.0
_FAULTS_TOLD = 5
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class Gone(Exception):
    """The client has closed its connection: nobody reads an answer."""


async def read(receive: Receive, headers: Mapping[bytes, bytes], most: int) -> bytes:
    """Read a JSON body.

    Args:
        receive: the ASGI server's.
        headers: the request's.
        most: bytes.

    Raises:
        NotJson: it is declared as something else. A web page can send other types to any address without
            being asked (CORS), and shall not.
        TooLarge: it is over `most`.
        TooSlow: it did not come in time.
        Gone: the client went away.
    """
    kind = headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if kind != b"application/json" or headers.get(b"content-encoding", b"identity") != b"identity":
        raise NotJson("send the body as `content-type: application/json`, not compressed")
    declared = headers.get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > most:
        raise _too_large(most)
    try:
        async with asyncio.timeout(BODY_WITHIN_S):
            return await _collect(receive, most)
    except TimeoutError:
        raise TooSlow(f"the body did not arrive within {BODY_WITHIN_S:g} s") from None


async def _collect(receive: Receive, most: int) -> bytes:
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Gone
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _too_large(most)
        more = message.get("more_body", False)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"the body is over {most} bytes: send fewer or shorter documents")


def parse(model: type[M], raw: bytes) -> M:
    """Read a body as this model.

    Raises:
        Malformed: it is no JSON.
        Invalid: it is not what the model reads; names each place, never the text.
    """
    __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        if error.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
            raise _invalid(error) from None
    try:
        return model.model_validate_json(_tolerant(raw))
    except ValidationError as error:
        raise _invalid(error) from None
    except (ValueError, RecursionError):
        raise Malformed("the body is no JSON") from None


def _tolerant(raw: bytes) -> str:
    """The same JSON without lone surrogates: halves of an emoji that JavaScript cuts and parsers refuse.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deeply.
    """
    return _LONE_SURROGATE.sub("\ufffd", json.dumps(json.loads(raw), ensure_ascii=False))


def _invalid(error: ValidationError) -> Invalid:
    return Invalid(describe(error, most=_FAULTS_TOLD))
