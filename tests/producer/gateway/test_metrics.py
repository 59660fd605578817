"""The gateway's metrics: on a port of their own, never on the one that clients reach."""

import re

import pytest

from memsift_ops import valkey
from memsift_producer.gateway.running import Pace, Turns
from tests.producer.gateway.conftest import DOCUMENTS, QUERY, bearer, entry, serving
from tests.schemas.metrics.test_serving import scrape


@pytest.fixture
def port():
    return valkey.free_port()


async def test_calls_and_requests_are_counted_on_a_port_of_their_own(valkey_url, queue, worker, port):
    told = {"redis_url": valkey_url, "queue": queue, "deadline_ms": 5_000, "gateway_metrics_port": port}
    async with serving(**told) as client:
        for _ in range(2):
            answer = await client.post("/v1/rerank", json={"query": QUERY, "documents": DOCUMENTS})
            assert answer.headers["x-memsift-source"] == "model"
        assert (await client.post("/v1/rerank", json={"query": QUERY})).status_code == 422
        assert (await client.get("/metrics")).status_code == 404
        found = scrape(port)
    (dialect,) = {dict(labels)["dialect"] for name, labels in found if name.endswith("requests_total")}
    requests = {
        dict(labels)["status"]: count for (name, labels), count in found.items() if "requests_total" in name
    }
    assert requests == {"200": 2, "422": 1}
    assert re.fullmatch("[a-z-]+", dialect)
    calls = ("memsift_producer_calls_total", (("cause", "none"), ("source", "model")))
    assert found[calls] == 2
    with pytest.raises(OSError, match="refused"):
        scrape(port)


async def test_a_call_that_is_answered_in_the_order_given_counts_as_a_fallback(
    valkey_url, queue, worker, port, monkeypatch
):
    monkeypatch.setattr(Turns, "pace", lambda *_: Pace.AS_GIVEN)
    async with serving(redis_url=valkey_url, queue=queue, gateway_metrics_port=port) as client:
        await client.post("/v1/rerank", json={"query": QUERY, "documents": DOCUMENTS})
        found = scrape(port)
    overloaded = (("cause", "overloaded"), ("source", "prefilter"))
    assert found["memsift_producer_calls_total", overloaded] == 1
    assert found["memsift_producer_fallbacks_total", (("cause", "overloaded"),)] == 1
    assert found["memsift_producer_in_flight_calls", ()] == 0


async def test_who_has_no_key_is_counted_and_no_name_of_a_key_is_a_label(guarded, port):
    async with guarded(entry("secret-app"), gateway_metrics_port=port) as client:
        told = {"query": QUERY, "documents": DOCUMENTS}
        assert (await client.post("/v1/rerank", json=told)).status_code == 401
        assert (await client.post("/v1/rerank", json=told, headers=bearer())).status_code == 200
        found = scrape(port)
    assert {dict(labels).get("status") for name, labels in found if "requests_total" in name} == {
        "401",
        "200",
    }
    assert not any("secret-app" in str(key) for key in found)
