"""Rerank servers as processes, started once for all tests, and rankers that are connected to them."""

import contextlib
import subprocess
import sys
from pathlib import Path

import httpx
import orjson
import pytest

from memsift_schemas.settings import WorkerSettings
from memsift_workers.rankers.clef.ranker import ClefRanker
from tests.workers.rankers.rerank_dialects import MODEL

ROOT = Path(__file__).parents[3]
# What an operator must set beside the URL.
NEEDS = {"cohere": {"clef_model": MODEL}}


class RerankProcess:
    """One server process; see `rerank_server` for faults."""

    def __init__(self, dialect, *options):
        self.dialect = dialect
        command = [sys.executable, "-m", "tests.workers.rankers.rerank_server", dialect, *options]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}"
        self._control = httpx.Client(base_url=self.url, trust_env=False, verify=False)

    def fault(self, kind=None, **details):
        """From now on this goes wrong; nothing without a kind. Forgets what was seen."""
        fault = {"kind": kind, **details} if kind else None
        self._control.post("/_fault", content=orjson.dumps(fault)).raise_for_status()

    def seen(self):
        return self._control.get("/_seen").json()

    def bodies(self):
        return [request["body"] for request in self.seen()["seen"]]

    def stop(self):
        self._control.close()
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="session")
def _rerank_processes():
    processes = {}
    yield processes
    for process in processes.values():
        process.stop()


@pytest.fixture
def rerank_server(_rerank_processes):
    """A server of this dialect, without a fault."""

    def start(dialect, *options):
        key = (dialect, *options)
        if key not in _rerank_processes:
            _rerank_processes[key] = RerankProcess(*key)
        _rerank_processes[key].fault()
        return _rerank_processes[key]

    return start


@pytest.fixture
async def clef():
    """A ranker on this server, started unless told otherwise."""
    async with contextlib.AsyncExitStack() as stack:

        async def connect(server, *, start=True, **settings):
            wanted = {"clef_url": server.url, **NEEDS.get(server.dialect, {}), **settings}
            ranker = ClefRanker(WorkerSettings(**wanted))
            stack.push_async_callback(ranker.close)
            if start:
                await ranker.start()
                server.fault()
            return ranker

        yield connect
