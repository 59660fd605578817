"""`nox` and `decision` from a frontend through Redis and a real worker to a server, and back in time."""

import os
import subprocess
import sys

import pytest

from memsift_producer import Reranker
from memsift_schemas import Cause, Source
from tests.samples import memories
from tests.workers.rankers.model_server import ModelServer
from tests.workers.rankers.remote import RULES, settings_for

pytestmark = pytest.mark.stack

DEADLINE_MS = 600
# What goes wrong, and the causes that a frontend may be told.
FAULTS = {
    "hang": ({"kind": "hang"}, {Cause.RUNTIME_TIMEOUT, Cause.DEADLINE}),
    "slow stream": ({"kind": "trickle"}, {Cause.RUNTIME_TIMEOUT, Cause.DEADLINE}),
    "error": ({"kind": "status", "status": 500}, {Cause.RUNTIME_UNAVAILABLE}),
    "garbage": ({"kind": "raw", "answer": b"<html>"}, {Cause.RUNTIME_GARBAGE}),
    # Last: the server asks to be left alone, and is.
    "busy": (
        {"kind": "status", "status": 429, "headers": {"retry-after-ms": "30000"}},
        {Cause.RUNTIME_UNAVAILABLE},
    ),
}


@pytest.mark.parametrize("name", ["nox", "decision"])
async def test_a_ranking_comes_back_in_time_whatever_the_server_does(start_worker, name):
    with ModelServer(RULES[name]()) as server:
        running = start_worker(
            **settings_for(name, server.url),
            nox_usd_per_million_in=1.0,
            decision_usd_per_million_in=1.0,
        )
        reranker = Reranker.from_url(running.url, queue=running.queue, deadline_ms=DEADLINE_MS)
        async with reranker:

            async def ask(query="Where is the spare key to the cabin?"):
                return await reranker.rerank(query=query, memories=memories(6))

            await reranker.rerank(query="warm up", memories=memories(2))
            good = await ask()
            assert (good.source, good.result.ranker) == (Source.MODEL, name)
            assert good.result.ranking[0].id == "m0"
            assert good.result.cost_usd > 0

            # A fault that passes
            soon = {"kind": "status", "status": 429, "headers": {"retry-after-ms": "30"}}
            seen = len(server.seen)
            server.fault = lambda number, _: soon if number == seen + 1 else None
            assert (await ask()).source is Source.MODEL

            # Faults that last
            for fault, causes in FAULTS.values():
                server.fault = lambda *_, fault=fault: fault
                fallen = await ask()
                assert fallen.source is Source.PREFILTER
                assert fallen.cause in causes
                assert fallen.result.ranking[0].id == "m0"


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("nox", {"nox_url": "https://1.1.1.1/v1", "nox_model": "chatty"}),
        ("decision", {"decision_url": "https://1.1.1.1"}),
    ],
)
def test_a_worker_that_would_send_memories_out_does_not_start_and_says_why(name, settings):
    command = [sys.executable, "-m", "celery", "-A", "memsift_workers.app", "worker", "-P", "solo"]
    told = {f"MEMSIFT_{key.upper()}": value for key, value in {"ranker": name, **settings}.items()}
    ended = subprocess.run(
        command, env={**os.environ, **told}, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode != 0
    assert "MEMSIFT_ALLOW_EGRESS=1" in ended.stderr + ended.stdout
    assert "1.1.1.1 is a public address" in ended.stderr + ended.stdout
