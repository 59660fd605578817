"""What agents see of the tools and get from them, by the SDK's own client over each transport."""

import asyncio
import json

import jsonschema_rs
import pytest

from memsift_schemas.keys import cancel_key
from tests.producer.mcp.connections import NOWHERE, QUERY, TEXTS, TRANSPORTS, connected, text_of

GIVEN = [
    {"text": TEXTS[0], "id": "cabin", "created_at": "2026-03-02T10:12:00+08:00", "similarity": 0.4},
    {"text": TEXTS[1], "id": "key", "similarity": 0.8, "kind": "fact", "more": "is not read"},
    TEXTS[2],
]
ASKED = {"query": QUERY, "memories": GIVEN, "top_k": 2}

over_all = pytest.mark.parametrize("transport", TRANSPORTS)


@pytest.fixture
def told(valkey_url, queue, worker):
    """Settings of a server before a worker that turns the prefilter's order around."""
    return {"redis_url": valkey_url, "queue": queue, "deadline_ms": 9_000}


@over_all
async def test_agents_see_two_tools_with_schemas(transport, told):
    async with connected(transport, **told) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "memsift" in client.instructions
    assert set(tools) == {"rerank_memories", "explain_ranking"}
    for tool in tools.values():
        assert tool.annotations.read_only_hint
        assert "created_at" in tool.input_schema["$defs"]["MemoryItem"]["properties"]
        assert set(tool.input_schema["required"]) == {"query", "memories"}
        # Then every argument and field of a result says what it is
        for schema in (tool.input_schema, tool.output_schema):
            assert all("description" in field for field in schema["properties"].values())
            jsonschema_rs.validator_for(schema)
        # And what the tests call it with is what its schema takes, though not with bare texts
        assert jsonschema_rs.is_valid(tool.input_schema, {**ASKED, "memories": GIVEN[:2]})
        assert not jsonschema_rs.is_valid(tool.input_schema, {"query": " ", "memories": GIVEN[:2]})


@over_all
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_model_chooses(transport, mode, told, worker):
    steps = []

    async def progress(done, total, message):
        steps.append((done, total, message))

    async with connected(transport, mode, **told) as client:
        (tool,) = [one for one in (await client.list_tools()).tools if one.name == "rerank_memories"]
        result = await client.call_tool(tool.name, ASKED, progress_callback=progress)
    assert not result.is_error
    given = result.structured_content
    assert jsonschema_rs.is_valid(tool.output_schema, given)
    assert json.loads(text_of(result)) == given
    (job,) = worker.jobs
    assert [one["text"] for one in given["memories"]] == [one.text for one in job.candidates][::-1][:2]
    assert {one["index"]: one["id"] for one in given["memories"]}.items() <= {
        0: "cabin",
        1: "key",
        2: "#2",
    }.items()
    assert [one["place"] for one in given["memories"]] == [1, 2]
    assert (given["source"], given["cause"], given["considered"]) == ("model", None, 3)
    assert job.top_k == 2
    assert {one.similarity for one in job.candidates} == {0.4, 0.8, None}
    assert (0, 1, "asked, 9 s at most") in steps


@over_all
async def test_every_memorys_fate_is_told(transport, told):
    repeated = [*GIVEN, {"text": f"{TEXTS[1]}", "id": "again"}]
    async with connected(transport, prefilter_keep=2, **told) as client:
        (tool,) = [one for one in (await client.list_tools()).tools if one.name == "explain_ranking"]
        result = await client.call_tool(tool.name, {**ASKED, "memories": repeated, "top_k": 1})
    given = result.structured_content
    assert jsonschema_rs.is_valid(tool.output_schema, given)
    fates = {one["id"]: one["fate"] for one in given["memories"]}
    assert sorted(fates.values()) == ["duplicate", "outranked", "pruned", "selected"]
    assert fates["again"] == "duplicate"
    assert {one["id"]: one["duplicate_of"] for one in given["memories"]}["again"] == "key"
    by_place = sorted((one["place"], one["prefilter_place"]) for one in given["memories"] if one["place"])
    assert by_place == [(1, 2), (2, 1)]  # the worker turned the prefilter's order around
    assert given["source"] == "model"
    assert "rank" in given["timings_ms"]
    # Then it holds no memory's text
    assert not any(text in text_of(result) for text in TEXTS)


@over_all
@pytest.mark.parametrize("tool", ["rerank_memories", "explain_ranking"])
async def test_without_a_worker_the_prefilter_answers_and_says_so(transport, tool, valkey_url, queue):
    async with connected(transport, redis_url=valkey_url, queue=queue, deadline_ms=150) as client:
        result = await client.call_tool(tool, ASKED)
    given = result.structured_content
    assert not result.is_error
    assert (given["source"], given["cause"], given["ranker"]) == ("prefilter", "deadline", "")
    assert given["memories"][0]["id"] == "key"
    assert "use it as it is" in given["advice"]
    assert "`deadline_ms`" in given["advice"]


@over_all
async def test_nor_does_it_fail_without_redis(transport):
    async with connected(transport, redis_url=NOWHERE) as client:
        given = (await client.call_tool("rerank_memories", ASKED)).structured_content
    assert (given["source"], given["memories"][0]["id"]) == ("prefilter", "key")
    assert given["cause"] in {"redis_unavailable", "breaker_open"}
    assert "memsift status" in given["advice"]


@over_all
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_that_is_cancelled_withdraws_its_job(transport, mode, told, worker, redis, eventually):
    # Given a worker that has taken the job and is still at it
    worker.answer = lambda job: None
    async with connected(transport, mode, **told) as client:
        asking = asyncio.create_task(client.call_tool("rerank_memories", ASKED))
        await eventually(lambda: worker.jobs)
        # When the agent gives up
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        # Then the worker can see that nobody waits, long before the deadline
        key = cancel_key(told["queue"], worker.jobs[0].id)
        async with asyncio.timeout(5):
            while not await redis.exists(key):
                await asyncio.sleep(0.01)
        # And the next call is answered
        worker.answer = worker.reversed
        result = await client.call_tool("rerank_memories", ASKED)
        assert result.structured_content["source"] == "model"


@over_all
async def test_many_calls_at_once_are_answered_each_with_its_own(transport, told):
    async with connected(transport, **told) as client:
        asked = [
            {"query": f"Which code opens locker {at}?", "memories": [f"Locker {at} has code {at * 7}."]}
            for at in range(30)
        ]
        found = await asyncio.gather(*(client.call_tool("rerank_memories", one) for one in asked))
    texts = [one.structured_content["memories"][0]["text"] for one in found]
    assert texts == [f"Locker {at} has code {at * 7}." for at in range(30)]


@pytest.mark.parametrize("as_text", [json.dumps(GIVEN), GIVEN])
async def test_lists_may_come_as_the_json_of_one(told, worker, as_text):
    turns = json.dumps([{"role": "user", "text": "hello"}])
    async with connected("here", **told) as client:
        result = await client.call_tool(
            "rerank_memories", {**ASKED, "memories": as_text, "turns": turns, "user": "u1", "session": "s1"}
        )
    assert result.structured_content["considered"] == 3
    assert (worker.jobs[0].user, worker.jobs[0].session, worker.jobs[0].turns[0].text) == (
        "u1",
        "s1",
        "hello",
    )


async def test_near_duplicates_belong_into_no_prompt(told):
    async with connected("here", **told) as client:
        asked = {"query": QUERY, "memories": [TEXTS[1], TEXTS[1], f"{TEXTS[1]}!"], "top_k": 3}
        given = (await client.call_tool("rerank_memories", asked)).structured_content
    assert len(given["memories"]) == 1
    assert given["considered"] == 3
