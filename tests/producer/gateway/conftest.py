"""A gateway in the test's own event loop, before the worker of `tests/producer/conftest.py`."""

import contextlib
import hashlib

import httpx
import pytest

from memsift_producer.gateway import create_app
from memsift_schemas.settings import GatewaySettings

DOCUMENTS = [
    "The cabin has no heating in winter.",
    "The spare key to the cabin lies under the blue flowerpot.",
    "Jonas moved from Graz to Trieste in January.",
]
QUERY = "Where is the spare key to the cabin?"
# No server listens there.
NOWHERE = "redis://127.0.0.1:1/0"
KEY = "msk_a-key-that-the-tests-know"


def bearer(key=KEY):
    return {"authorization": f"Bearer {key}"}


def entry(name="app", key=KEY, **more):
    """One entry of a key file."""
    lines = ["[[keys]]", f'name = "{name}"', f'sha256 = "{hashlib.sha256(key.encode()).hexdigest()}"']
    lines += [f"{field} = {value!r}".replace("'", '"') for field, value in more.items()]
    return "\n".join(lines) + "\n"


@contextlib.asynccontextmanager
async def serving(base_url="http://127.0.0.1", clock=None, scenes=tuple, **settings):
    """A client of a gateway that is open; `app` is the gateway's."""
    app = create_app(GatewaySettings(**settings), clock=clock, scenes=scenes)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base_url) as client,
    ):
        client.app = app
        yield client


@pytest.fixture
async def client(valkey_url, queue, worker):
    """Without keys, before a worker that turns the order around."""
    async with serving(redis_url=valkey_url, queue=queue, deadline_ms=5_000) as one:
        yield one


@pytest.fixture
def key_file(tmp_path):
    """Write a key file; returns its path."""

    def write(*entries):
        path = tmp_path / "keys.toml"
        path.write_text("\n".join(entries or [entry()]))
        return str(path)

    return write


@pytest.fixture
def guarded(valkey_url, queue, worker, key_file):
    """A gateway with keys: `async with guarded(entry(...), **settings) as client`."""

    def serve(*entries, **settings):
        told = {"redis_url": valkey_url, "queue": queue, "deadline_ms": 5_000, **settings}
        return serving(gateway_keys=key_file(*entries), **told)

    return serve
