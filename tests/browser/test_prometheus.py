"""Prometheus's own pages with a worker's and a gateway's metrics, as an operator sees them."""

import time
import urllib.parse

import httpx
import pytest

from memsift_ops import valkey
from memsift_ops.stack import Stack
from tests.integration.conftest import start
from tests.monitoring.conftest import prometheus
from tests.ops.monitoring.files import RULES
from tests.samples import TEXTS

__all__ = ["prometheus"]

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

CALLS = "sum by (source) (rate(memsift_producer_calls_total[30s]))"
# Debian's build has the older of Prometheus's two faces, which upstream serves there too.
FACE = "classic"


def test_calls_targets_and_alerts_are_on_prometheus_pages(visit, prometheus, queue):
    # Given a worker and a gateway that is called, and a Prometheus that scrapes both
    with Stack(queue) as stack:
        worker_port, gateway_port = valkey.free_port(), valkey.free_port()
        start(stack, queue, metrics_port=worker_port)
        url = stack.start_gateway(metrics_port=gateway_port)
        server = prometheus(workers=worker_port, gateways=gateway_port)
        give_up_at = time.monotonic() + 60
        while not any(server.value(CALLS)):
            assert time.monotonic() < give_up_at, "not in time"
            httpx.post(
                f"{url}/rerank", json={"query": "Where is the key?", "documents": list(TEXTS)}, timeout=30
            )
            time.sleep(0.2)
        # Then its graph has a line of the calls that the model answered
        told = urllib.parse.urlencode({"g0.expr": CALLS, "g0.tab": 0, "g0.range_input": "2m"})
        graph = visit(f"{server.url}/{FACE}/graph?{told}").page
        graph.get_by_text('{source="model"}').wait_for()
        assert graph.locator("svg path[stroke]").count() > 0
        # And both targets are up, and every alert is there and quiet
        targets = visit(f"{server.url}/{FACE}/targets").page.inner_text("body")
        assert targets.count("(1/1 up)") == 2
        alerts = visit(f"{server.url}/{FACE}/alerts").page.inner_text("body")
        assert all(f"{rule['alert']} (0 active)" in alerts for rule in RULES)
