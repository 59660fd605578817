"""What a ranker takes to deploy, and whether memories leave the network for it."""

from __future__ import annotations

import asyncio

from memsift_ops.evaluation import names
from memsift_schemas.settings import WorkerSettings
from memsift_workers.egress import EgressRefused, check_url
from memsift_workers.runtimes.base import RuntimeMisconfigured, RuntimeUnavailable

NEEDS = {
    "prefilter": (),
    "jev": ("worker",),
    "local": ("worker", "model"),
    "clef": ("worker", "/rerank server"),
    "nox": ("worker", "chat endpoint"),
    "decision": ("worker", "System One server"),
}


def needs(ranker: str) -> str:
    """What must be deployed beyond Redis, each part of a chain once."""
    parts = [need for part in names.parts(ranker) for need in NEEDS[part]]
    return " + ".join(dict.fromkeys(parts)) or "nothing"


def leaves_network(ranker: str, settings: WorkerSettings, *, ours: bool) -> bool | None:
    """Whether memories go to a public address.

    Args:
        ranker: a name or a chain, with or without a strategy.
        settings: of the worker.
        ours: whether the worker was started with these settings; of another one it is not known where its
            servers are.

    Returns:
        None when it is not known.
    """
    found = [_one(part, settings, ours=ours) for part in names.parts(ranker)]
    return True if True in found else None if None in found else False


def _one(ranker: str, settings: WorkerSettings, *, ours: bool) -> bool | None:
    if ranker in {"prefilter", "jev"}:
        return False
    if not ours:
        return None
    if ranker == "local":
        return settings.runtime == "sglang" and _is_public(settings.sglang_url)
    urls = {"clef": settings.clef_url, "nox": settings.nox_url, "decision": settings.decision_url}
    return _is_public(urls[ranker])


def _is_public(url: str) -> bool | None:
    try:
        asyncio.run(check_url(url, allowed=False))
    except EgressRefused:
        return True
    except (RuntimeUnavailable, RuntimeMisconfigured):
        return None
    return False
