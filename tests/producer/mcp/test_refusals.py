"""What an agent is told when it asked wrongly, and what nobody is told."""

import logging

import httpx
import pytest

from memsift_producer.mcp import create_server
from memsift_producer.mcp.catalogue import TOOLS, Known
from memsift_producer.mcp.serving import PATH, http_app
from memsift_schemas.settings import GatewaySettings
from tests.producer.listening import listening
from tests.producer.mcp.connections import NOWHERE, QUERY, TRANSPORTS, connected, text_of

SECRET = "xyzzy-secret"
WRONG = [
    ({}, "query: Field required; memories: Field required"),
    ({"query": " ", "memories": [SECRET]}, "query: must not be blank"),
    ({"query": SECRET, "memories": []}, "memories: Tuple should have at least 1 item"),
    ({"query": SECRET, "memories": SECRET}, "memories: Input should be a valid tuple"),
    ({"query": [SECRET], "memories": [SECRET]}, "query: Input should be a valid string"),
    ({"query": SECRET, "memories": [SECRET, ""]}, "memories.1.text: must not be blank"),
    ({"query": SECRET, "memories": [{"id": SECRET}]}, "memories.0.text: Field required"),
    (
        {"query": SECRET, "memories": [{"text": SECRET, "created_at": "2026-03-02T10:12:00"}]},
        "memories.0.created_at: Input should have timezone info",
    ),
    (
        {"query": SECRET, "memories": [{"text": SECRET, "kind": SECRET}]},
        "memories.0.kind: Input should be 'time-bound', 'preference', 'fact' or 'unknown'",
    ),
    (
        {"query": SECRET, "memories": [SECRET], "top_k": 0},
        "top_k: Input should be greater than or equal to 1",
    ),
    ({"query": SECRET, "memories": [SECRET], "top_n": 3}, "top_n: Extra inputs are not permitted"),
    ({"query": SECRET, "memories": [SECRET], "user": f"{SECRET}\x01"}, "user: an id must not hold control"),
    ({"query": SECRET, "memories": [SECRET], "turns": [{"role": SECRET}]}, "turns.0.role: Input should be"),
]


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong[1].split(":")[0])
async def test_what_is_wrong_is_named_by_its_place_and_nothing_is_sent(
    valkey_url, queue, worker, caplog, wrong
):
    asked, said = wrong
    caplog.set_level(logging.DEBUG)
    async with connected("here", redis_url=valkey_url, queue=queue) as client:
        for tool in TOOLS:
            result = await client.call_tool(tool, asked)
            assert result.is_error
            assert text_of(result).startswith(said)
            assert text_of(result).endswith("Put it right and call again.")
            assert SECRET not in text_of(result) + caplog.text
    assert not worker.jobs


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_over_every_transport(transport):
    async with connected(transport, redis_url=NOWHERE) as client:
        result = await client.call_tool("rerank_memories", {"query": SECRET, "memories": []})
        assert result.is_error
        assert "memories: " in text_of(result)
        assert SECRET not in text_of(result)
        unknown = await client.call_tool("rank", {"query": SECRET})
        assert text_of(unknown) == "there is no such tool: call one of rerank_memories, explain_ranking"


async def test_ids_that_come_twice_are_refused_where_they_tell_memories_apart():
    twice = {"query": QUERY, "memories": [{"id": SECRET, "text": "a"}, {"id": SECRET, "text": "b"}]}
    async with connected("here", redis_url=NOWHERE) as client:
        refused = await client.call_tool("explain_ranking", twice)
        ranked = await client.call_tool("rerank_memories", twice)
    assert "ids must be unique" in text_of(refused)
    assert SECRET not in text_of(refused)
    assert len(ranked.structured_content["memories"]) == 2


async def test_the_gateways_limits_hold_here_too(valkey_url, queue, worker):
    told = {"redis_url": valkey_url, "queue": queue, "gateway_max_documents": 300, "deadline_ms": 5_000}
    async with connected("here", **told) as client:
        most = await client.call_tool("rerank_memories", {"query": QUERY, "memories": ["a"] * 300})
        more = await client.call_tool("rerank_memories", {"query": QUERY, "memories": ["a"] * 301})
        explained = await client.call_tool("explain_ranking", {"query": QUERY, "memories": ["a"] * 201})
    assert most.structured_content["considered"] == 300
    assert text_of(more).startswith("memories: 301 are over the limit of 300: send fewer")
    assert text_of(explained).startswith("memories: Tuple should have at most 200 items")


async def test_no_call_takes_longer_than_the_gateway_lets_it(valkey_url, queue, worker):
    worker.answer = lambda job: None
    told = {"redis_url": valkey_url, "queue": queue, "gateway_max_deadline_ms": 100}
    asked = {"query": QUERY, "memories": ["a"], "deadline_ms": 60_000}
    async with connected("here", **told) as client:
        given = (await client.call_tool("rerank_memories", asked)).structured_content
    assert given["cause"] == "deadline"


async def test_a_fault_of_ours_is_told_by_its_type_in_the_log_alone(monkeypatch, caplog):
    async def broken(asked, _desk):
        raise ZeroDivisionError(asked.query)

    known = TOOLS["rerank_memories"]
    spoilt = Known(known.title, known.description, known.takes, known.gives, broken)
    monkeypatch.setitem(TOOLS, "rerank_memories", spoilt)
    caplog.set_level(logging.DEBUG)
    async with connected("here", redis_url=NOWHERE) as client:
        result = await client.call_tool("rerank_memories", {"query": SECRET, "memories": [SECRET]})
    assert result.is_error
    assert "fault" in text_of(result)
    assert "rerank_memories failed: ZeroDivisionError at test_refusals.py:" in caplog.text
    assert SECRET not in caplog.text + text_of(result)


async def test_no_word_reaches_the_log_when_all_is_well(valkey_url, queue, worker, caplog):
    caplog.set_level(logging.DEBUG)
    told = {"redis_url": valkey_url, "queue": queue, "deadline_ms": 5_000}
    async with connected("http", **told) as client:
        for tool in TOOLS:
            result = await client.call_tool(tool, {"query": SECRET, "memories": [SECRET]})
            assert result.structured_content["source"] == "model"
    # The client logs too; what is asked is the server's
    ours = [one.getMessage() for one in caplog.records if not one.name.startswith(("mcp.client", "httpx"))]
    assert ours
    assert not any(SECRET in line for line in ours)


async def test_over_http_another_name_and_a_body_too_large_are_refused():
    settings = GatewaySettings(redis_url=NOWHERE, gateway_max_bytes=2_000)
    call = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    heads = {"accept": "application/json, text/event-stream"}
    app = http_app(create_server(settings), settings)
    async with listening(app) as url, httpx.AsyncClient(base_url=url, headers=heads) as client:
        rebound = await client.post(PATH, json=call, headers={"host": "evil.example"})
        foreign = await client.post(PATH, json=call, headers={"origin": "https://evil.example"})
        large = await client.post(PATH, json={**call, "params": {"x": "y" * 3_000}})
    assert (rebound.status_code, foreign.status_code, large.status_code) == (421, 403, 413)
