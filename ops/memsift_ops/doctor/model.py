"""The runtime and its model: is it there, do template and labels fit, does the cache work."""

from __future__ import annotations

import asyncio
import math
import re
import uuid
from collections.abc import AsyncIterator

from memsift_ops.doctor.finding import Finding, fault, ok, skipped, warning
from memsift_schemas.settings import WorkerSettings
from memsift_workers.assembly import build_runtime, build_strategy
from memsift_workers.runtimes.base import (
    Call,
    Labels,
    Likelihood,
    Runtime,
    RuntimeFault,
    RuntimeMisconfigured,
)
from memsift_workers.strategies.base import Strategy
from memsift_workers.strategies.templates import TEMPLATES, Template

ANSWER_S = 20.0
# Long enough for any engine's cache block, 16 to 64 tokens.
_WORDS = " ".join(f"word number {at} of a text that nobody has sent before;" for at in range(40))
_MARKER = re.compile(r"<\|?\w+\|?>")
_THINKS = "<think>"


async def look(settings: WorkerSettings, *, start_s: float) -> AsyncIterator[Finding]:
    """Start the runtime as a worker would, and ask it.

    Args:
        settings: the worker's.
        start_s: how long it may take to be ready.
    """
    if not settings.uses_runtime or settings.runtime == "scripted":
        yield ok("runtime", f"{', '.join(settings.served)} on {settings.runtime} needs no model")
        return
    try:
        runtime = build_runtime(settings)
    except RuntimeMisconfigured as error:
        yield fault("runtime", str(error), "correct MEMSIFT_MODEL, or fetch it: memsift model pull")
        return
    try:
        async with asyncio.timeout(start_s):
            await runtime.start()
        yield ok("runtime", f"{settings.runtime} serves {runtime.model}")
        async for finding in _asked(runtime, build_strategy(settings), settings):
            yield finding
    except TimeoutError:
        yield fault("runtime", f"{settings.runtime} was not ready within {start_s:g} s", _remedy(settings))
    except RuntimeFault as error:
        yield fault("runtime", str(error), _remedy(settings))
    finally:
        await runtime.close()


def _remedy(settings: WorkerSettings) -> str:
    if settings.runtime == "sglang":
        return "start the server, correct MEMSIFT_SGLANG_URL or MEMSIFT_SGLANG_API_KEY, and look at its log"
    return "memsift model pull, or correct MEMSIFT_MODEL"


async def _asked(runtime: Runtime, strategy: Strategy, settings: WorkerSettings) -> AsyncIterator[Finding]:
    async with asyncio.timeout(ANSWER_S):
        yield await _labels(runtime, strategy)
        if strategy.name == "likelihood":
            yield ok("runtime.template", "likelihood uses none")
        else:
            yield await _template(runtime, settings.chat_template)
        yield await _cache(runtime, settings)


async def _labels(runtime: Runtime, strategy: Strategy) -> Finding:
    if not strategy.labels:
        return ok("runtime.labels", f"{strategy.name} reads none")
    try:
        strategy.use_labels(await runtime.usable_labels(strategy.labels))
    except RuntimeMisconfigured as error:
        return fault("runtime.labels", str(error), "take another model, or MEMSIFT_STRATEGY=likelihood")
    return ok("runtime.labels", f"the labels of {strategy.name} are single tokens of the model")


async def _template(runtime: Runtime, name: str) -> Finding:
    """Whether the template's marks are tokens of the model, and whether the model then answers at once."""
    check = "runtime.template"
    missing = await _no_tokens(runtime, TEMPLATES[name])
    if missing:
        fitting = [
            other for other, one in TEMPLATES.items() if _marks(one) and not await _no_tokens(runtime, one)
        ]
        remedy = f"MEMSIFT_CHAT_TEMPLATE={fitting[0]} fits" if fitting else "MEMSIFT_CHAT_TEMPLATE=plain"
        return fault(
            check, f"{name} does not fit the model, which does not know {', '.join(missing)}", remedy
        )
    if _marks(TEMPLATES[name]) and await _thinks(runtime, TEMPLATES[name]):
        return fault(
            check,
            f"behind {name} the model begins to think instead of answering",
            "MEMSIFT_CHAT_TEMPLATE=qwen3-no-think, or a model that does not think",
        )
    return ok(check, f"{name} fits the model")


async def _no_tokens(runtime: Runtime, template: Template) -> list[str]:
    marks = _marks(template)
    usable = await runtime.usable_labels(marks)
    return [mark for mark in marks if mark not in usable]


def _marks(template: Template) -> list[str]:
    text = f"{template.before_system}{template.before_user}{template.before_answer}"
    return list(dict.fromkeys(_MARKER.findall(text)))


async def _thinks(runtime: Runtime, template: Template) -> bool:
    if not await runtime.usable_labels([_THINKS]):
        return False
    opening = template.opening("Answer with yes or no.")
    call = Call((opening,), f"Is ice cold?{template.before_answer}", Labels((_THINKS,)))
    (answer,) = await runtime.run([call], timeout=ANSWER_S)
    return math.exp(answer.logprobs[0]) > 0.5  # noqa: PLR2004  # more probable than all else together


async def _cache(runtime: Runtime, settings: WorkerSettings) -> Finding:
    """Ask the same twice: the second time nearly all of it must come from the cache."""
    check = "runtime.cache"
    call = Call((_WORDS,), " end", Likelihood(), namespace=f"memsift-doctor-{uuid.uuid4().hex}")
    await runtime.run([call], timeout=ANSWER_S)
    (again,) = await runtime.run([call], timeout=ANSWER_S)
    if not again.prompt_tokens:
        return skipped(check, "the runtime counts no tokens")
    share = again.cached_tokens / again.prompt_tokens
    told = f"of a prompt that is sent twice {share:.0%} comes from the cache"
    if share >= 0.5:  # noqa: PLR2004  # the rest is the last block and the suffix
        return ok(check, told)
    if settings.runtime == "embedded":
        return warning(check, told, "raise MEMSIFT_EMBEDDED_CACHE_MB")
    remedy = "start SGLang without --disable-radix-cache and --enable-mis; give it more KV memory"
    return fault(check, told, remedy)
