"""Who asks `/metrics` is answered; several processes answer as one, also when some of them are gone."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.parser import text_string_to_metric_families

from memsift_ops import valkey
from memsift_schemas import SettingsError
from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.instruments import SHARED_DIRECTORY, Instruments
from memsift_schemas.metrics.serving import MetricsServer, own_registry

# A process that counts three jobs, has two in flight and then waits for its end.
PROCESS = """
import sys, time
from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.instruments import Instruments
from memsift_schemas.metrics.serving import MetricsServer, own_registry

registry = own_registry()
instruments = Instruments(catalogue.WORKER, registry)
instruments.count(catalogue.JOBS, "local", "ranked", "none", by=3)
instruments.observe(catalogue.SLACK, 0.1)
instruments.change(catalogue.IN_RUNTIME, 2)
instruments.show(catalogue.CLOCK_SKEW, -1.5)
server = MetricsServer(registry, port=int(sys.argv[1]))
print("ready", flush=True)
time.sleep(60)
"""
JOBS = ("memsift_worker_jobs_total", (("cause", "none"), ("outcome", "ranked"), ("ranker", "local")))
IN_FLIGHT = ("memsift_worker_in_flight_jobs", ())


def scrape(port, path="/metrics"):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
        text = answer.read().decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def scraped(port):
    """As `scrape`; nothing while nobody serves there yet."""
    try:
        return scrape(port)
    except OSError:
        return {}


def until(condition, seconds=10.0):
    give_up_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < give_up_at, "not in time"
        time.sleep(0.05)


@pytest.fixture
def served():
    servers = []

    def serve(**told):
        registry = own_registry()
        Instruments(catalogue.WORKER, registry).change(catalogue.IN_RUNTIME, 1)
        servers.append(MetricsServer(registry, **told))
        return servers[-1]

    yield serve
    for one in servers:
        one.close()


@pytest.fixture
def processes(tmp_path):
    """Start processes that share a directory."""
    started = []

    def start(port):
        one = subprocess.Popen(
            [sys.executable, "-c", PROCESS, str(port)],
            env={**os.environ, SHARED_DIRECTORY: str(tmp_path)},
            stdout=subprocess.PIPE,
        )
        started.append(one)
        assert one.stdout.readline() == b"ready\n"
        return one

    yield start
    for one in started:
        one.kill()
        one.wait()
        one.stdout.close()


def test_metrics_are_served_to_this_machine_and_nothing_else_is(served):
    server = served()
    found = scrape(server.port)
    assert found[IN_FLIGHT] == 1
    assert ("process_resident_memory_bytes", ()) in found
    with pytest.raises(urllib.error.HTTPError) as refused:
        scrape(server.port, "/")
    assert refused.value.code == 404
    assert server._address[1][0] == "127.0.0.1"


def test_a_taken_port_is_waited_for(served, caplog):
    """Given a predecessor that still has the port, when it ends, then the successor serves."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        server = served(port=taken.getsockname()[1])
        assert server.port == 0
        assert "no metrics yet" in caplog.text
    until(lambda: server.port)
    assert scrape(server.port)[IN_FLIGHT] == 1


def test_one_that_never_gets_its_port_can_be_closed(served):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        served(port=taken.getsockname()[1]).close()


def test_a_wrong_address_is_told_with_its_variable():
    with pytest.raises(SettingsError, match="MEMSIFT_METRICS_HOST"):
        MetricsServer(CollectorRegistry(), host="no.such.host.invalid")
    with pytest.raises(SettingsError, match="metrics cannot be served"):
        MetricsServer(CollectorRegistry(), host="192.0.2.1")


def test_a_directory_that_is_none_is_told(monkeypatch):
    monkeypatch.setenv(SHARED_DIRECTORY, "/nowhere")
    with pytest.raises(SettingsError, match=SHARED_DIRECTORY):
        MetricsServer(CollectorRegistry())


def test_processes_that_share_a_directory_and_a_port_answer_as_one(processes):
    port = valkey.free_port()
    some = [processes(port) for _ in range(3)]
    for _ in range(6):  # whichever of them is asked
        found = scrape(port)
        assert (found[JOBS], found[IN_FLIGHT]) == (9, 6)
        assert found["memsift_worker_slack_seconds_count", ()] == 3
        assert found["memsift_worker_clock_skew_seconds", ()] == -1.5
    some[0].send_signal(signal.SIGKILL)
    some[0].wait()
    for _ in range(6):
        found = scrape(port)
        # What it has counted was so; what it had in flight is nowhere any more.
        assert (found[JOBS], found[IN_FLIGHT]) == (9, 4)
    processes(port)
    assert (scrape(port)[JOBS], scrape(port)[IN_FLIGHT]) == (12, 6)
