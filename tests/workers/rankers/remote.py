"""The two rankers that ask a model elsewhere, as a worker builds them, and the servers that they ask."""

import contextlib

from memsift_schemas.settings import WorkerSettings, load
from memsift_workers.assembly import build_rankers
from memsift_workers.rankers.base import to_result
from tests.workers.rankers.model_server import Chat, Decider, ModelServer

RULES = {"nox": Chat, "decision": Decider}
KEY = "key-0815"


def settings_for(name, url, **more):
    own = {
        "nox": {"nox_url": f"{url}/v1", "nox_model": "chatty", "nox_api_key": KEY},
        "decision": {"decision_url": url, "decision_api_key": KEY},
    }[name]
    return {"ranker": name, **own, **more}


@contextlib.asynccontextmanager
async def asking(name, rule=None, *, start=True, **settings):
    """A server and a started ranker that asks it; what the server saw at the start is forgotten."""
    with ModelServer(rule or RULES[name]()) as server:
        async with connected(name, server.url, start=start, **settings) as ranker:
            server.seen.clear()
            yield server, ranker


@contextlib.asynccontextmanager
async def connected(name, url, *, start=True, **settings):
    (ranker,) = build_rankers(load(WorkerSettings, **settings_for(name, url, **settings)))
    try:
        if start:
            await ranker.start()
        yield ranker
    finally:
        await ranker.close()


def order(whole, scores, ranker):
    return [place.id for place in to_result(whole, scores, ranker).ranking]
