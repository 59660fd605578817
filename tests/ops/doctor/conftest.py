"""Somebody to examine."""

import pytest

from memsift_ops import services, valkey
from memsift_ops.doctor.examination import Patient, examine
from memsift_schemas import SystemClock
from memsift_schemas.settings import ProducerSettings, WorkerSettings
from tests.integration.servers import Servers, answers, until


@pytest.fixture
def servers(tmp_path):
    one = Servers(tmp_path)
    yield one
    one.stop()


@pytest.fixture
def start_valkey(servers):
    """Start a server with these flags; returns its URL."""

    def start(*flags, binary=None):
        port = valkey.free_port()
        if binary is None:
            child = servers.valkey(port, mode=("--save", "", *flags))
        else:
            argv = [binary, "--port", str(port), "--dir", str(servers.folder), "--save", "", *flags]
            child = servers.start("server", argv)
        url = f"redis://127.0.0.1:{port}/0"
        until(lambda: answers(url), child=child)
        return url

    return start


@pytest.fixture
def connected(start_valkey):
    """A client of a server with these flags."""
    clients = []

    def connect(*flags, **options):
        clients.append(services.client(start_valkey(*flags, **options)))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


@pytest.fixture
def patient(queue):
    """Somebody whose worker has no model."""

    def make(url, *, operator_url=None, side="worker", clock=None, **settings):
        return Patient(
            worker=WorkerSettings(redis_url=url, queue=queue, **{"runtime": "scripted", **settings}),
            frontend=ProducerSettings(redis_url=url, queue=queue),
            side=side,
            operator_url=operator_url,
            clock=clock or SystemClock(),
            start_s=5.0,
        )

    return make


async def found(patient):
    """Every finding, by its check."""
    return {one.check: one async for one in examine(patient, lambda what: None)}


def faults(findings):
    """The checks that found a fault."""
    return sorted(one.check for one in findings if one.state == "fault")
