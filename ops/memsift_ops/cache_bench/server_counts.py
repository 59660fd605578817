"""What an SGLang server counts itself, to hold against what it told each request."""

from __future__ import annotations

import re

import httpx

from memsift_ops.errors import Failure

# Written once a second or so by the server's other processes.
_TOTALS = {
    "prompt_tokens": re.compile(r"^sglang:prompt_tokens_total(?:\{[^}]*\})? ([0-9.e+]+)$", re.MULTILINE),
    "cached_tokens": re.compile(r"^sglang:cached_tokens_total(?:\{[^}]*\})? ([0-9.e+]+)$", re.MULTILINE),
}
ANSWER_S = 10.0


async def read(url: str) -> dict[str, float]:
    """The server's totals since it started: `prompt_tokens` and `cached_tokens`.

    Raises:
        Failure: it does not tell; says how to make it.
    """
    try:
        async with httpx.AsyncClient(timeout=ANSWER_S) as client:
            text = (await client.get(f"{url.rstrip('/')}/metrics")).raise_for_status().text
    except httpx.HTTPError as error:
        raise Failure(
            f"the server at MEMSIFT_SGLANG_URL shows no metrics ({type(error).__name__}): start it with "
            "--enable-metrics"
        ) from None
    return {name: sum(float(one) for one in pattern.findall(text)) for name, pattern in _TOTALS.items()}
