"""From settings to the objects that they name. Imports only what the settings ask for."""

from __future__ import annotations

import functools
import os
from socket import gethostname

from memsift_schemas.clock import SystemClock
from memsift_schemas.redis_link import connect
from memsift_schemas.sealing import KeyRing
from memsift_schemas.settings import WorkerSettings
from memsift_workers.decks.deck import Limits
from memsift_workers.decks.session import Decks
from memsift_workers.decks.store import DeckStore
from memsift_workers.flow.runtime_name import runtime_name
from memsift_workers.rankers.base import Ranker
from memsift_workers.rankers.cascade import Cascade
from memsift_workers.rankers.local import LocalRanker
from memsift_workers.runtimes.base import Runtime, RuntimeMisconfigured
from memsift_workers.runtimes.remembering import Remembering
from memsift_workers.runtimes.traced import Traced
from memsift_workers.strategies.base import Strategy
from memsift_workers.strategies.likelihood import Likelihood
from memsift_workers.strategies.listwise import Listwise
from memsift_workers.strategies.pointwise import Pointwise
from memsift_workers.strategies.scorecard import Scorecard
from memsift_workers.strategies.templates import TEMPLATES


def build_rankers(settings: WorkerSettings) -> list[Ranker]:
    """The rankers that a worker serves, its default first.

    Raises:
        RuntimeMisconfigured: the model is not there; the message names the remedy.
    """
    return build_with_shadow(settings)[0]


def build_with_shadow(settings: WorkerSettings) -> tuple[list[Ranker], Ranker | None]:
    """The same, and the shadow ranker, if there is one; what they have in common is built once.

    Raises:
        RuntimeMisconfigured: see `build_rankers`.
    """
    single = functools.cache(lambda name: _build_ranker(name, settings))

    def build(name: str) -> Ranker:
        return _chain([single(part) for part in name.split(">")], settings)

    return [build(name) for name in settings.served], (
        build(settings.shadow_ranker) if settings.shadow_ranker else None
    )


def _chain(parts: list[Ranker], settings: WorkerSettings) -> Ranker:
    return functools.reduce(lambda first, second: Cascade(first, second, keep=settings.cascade_keep), parts)


def _build_ranker(name: str, settings: WorkerSettings) -> Ranker:
    match name:
        case "local":
            return build_local(settings)
        case "jev":
            from memsift_workers.rankers.jev.ranker import JevRanker  # noqa: PLC0415

            return JevRanker(settings)
        case "clef":
            from memsift_workers.rankers.clef.ranker import ClefRanker  # noqa: PLC0415

            return ClefRanker(settings)
        case "nox":
            from memsift_workers.rankers.nox.ranker import build_nox  # noqa: PLC0415

            return build_nox(settings)
        case "decision":
            from memsift_workers.rankers.decision.ranker import build_decision  # noqa: PLC0415

            return build_decision(settings)
        case _:
            raise RuntimeMisconfigured(f"there is no ranker {name}")


def build_local(settings: WorkerSettings) -> LocalRanker:
    """The ranker that asks the runtime, with a memory for its answers.

    Raises:
        RuntimeMisconfigured: see `build_rankers`.
    """
    runtime = Remembering(Traced(build_runtime(settings)), SystemClock())
    return LocalRanker(runtime, build_strategy(settings), build_decks(settings))


def build_runtime(settings: WorkerSettings) -> Runtime:
    """The runtime that the settings name, not yet started."""
    match settings.runtime:
        case "embedded":
            from memsift_workers.models.store import resolve_model  # noqa: PLC0415
            from memsift_workers.runtimes.embedded import EmbeddedRuntime  # noqa: PLC0415

            return EmbeddedRuntime(
                resolve_model(settings.model),
                cache_mb=settings.embedded_cache_mb,
                threads=settings.embedded_threads,
            )
        case "sglang":
            from memsift_workers.runtimes.sglang import SGLangRuntime  # noqa: PLC0415

            return SGLangRuntime(
                settings.sglang_url, api_key=settings.sglang_api_key, allow_egress=settings.allow_egress
            )
        case "scripted":
            from memsift_workers.runtimes.scripted import ScriptedRuntime  # noqa: PLC0415

            return ScriptedRuntime(seconds_per_batch=settings.scripted_ms / 1e3)


def build_decks(settings: WorkerSettings) -> Decks:
    """What keeps the sessions' decks; with `MEMSIFT_DECK=0` each turn has one of its own."""
    store = None
    if settings.deck:
        redis = connect(
            settings.redis_url, client_name="memsift-decks", connections=2 * settings.batches_in_flight
        )
        ring = KeyRing.of(settings.seal_keys)
        store = DeckStore(redis, queue=settings.queue, ring=ring, ttl_s=settings.deck_ttl_s)
    limits = Limits(settings.deck_memories, settings.deck_tokens, settings.deck_carry)
    # An embedded engine that is started again has nothing in its cache, so it is another one.
    runtime = runtime_name(settings, f"{gethostname()}:{os.getpid()}")
    return Decks(limits, store, runtime=runtime, clock=SystemClock().monotonic)


def build_strategy(settings: WorkerSettings) -> Strategy:
    """The strategy that the settings name."""
    template = TEMPLATES[settings.chat_template]
    match settings.strategy:
        case "likelihood":
            return Likelihood(weight_en=settings.fusion_weight_en, weight_zh=settings.fusion_weight_zh)
        case "pointwise":
            return Pointwise(template)
        case "listwise":
            return Listwise(
                template, weight_en=settings.fusion_weight_en, weight_zh=settings.fusion_weight_zh
            )
        case "scorecard":
            return Scorecard(template)
