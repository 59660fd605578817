"""A client that goes away, on a real socket: its job is withdrawn or marked, and no answer is written."""

import asyncio
import logging

import orjson

from memsift_producer.gateway import door
from memsift_schemas.keys import cancel_key
from tests.producer.gateway.conftest import DOCUMENTS, NOWHERE, QUERY
from tests.producer.gateway.server import listening, raw_post

BODY = orjson.dumps({"query": QUERY, "documents": DOCUMENTS})


async def test_the_job_of_a_client_that_went_away_is_marked(
    valkey_url, queue, worker, redis, eventually, caplog
):
    caplog.set_level(logging.INFO, "memsift.gateway")
    # Given a worker that has taken the job and is still at it
    worker.answer = lambda job: None
    async with listening(redis_url=valkey_url, queue=queue, deadline_ms=8_000) as url:
        _, writer = await raw_post(url, "/rerank", BODY)
        await eventually(lambda: worker.jobs)
        # When the client closes its connection
        writer.close()
        # Then the worker can see that nobody waits, long before the deadline
        key = cancel_key(queue, worker.jobs[0].id)
        async with asyncio.timeout(2):
            while not await redis.exists(key):
                await asyncio.sleep(0.01)
        await eventually(lambda: f" {door.CLIENT_GONE} " in caplog.text)


async def test_a_client_that_stays_gets_its_answer_and_no_mark(valkey_url, queue, worker, redis):
    async with listening(redis_url=valkey_url, queue=queue, deadline_ms=8_000) as url:
        reader, writer = await raw_post(url, "/rerank", BODY, connection="close")
        answer = await reader.read()
        writer.close()
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert not await redis.exists(cancel_key(queue, worker.jobs[0].id))


async def test_a_client_that_goes_away_within_its_body_leaves_nothing(
    valkey_url, queue, worker, eventually, caplog
):
    caplog.set_level(logging.INFO, "memsift.gateway")
    async with listening(redis_url=valkey_url, queue=queue) as url:
        _, writer = await raw_post(url, "/rerank", BODY[:20], **{"content-length": len(BODY)})
        writer.close()
        await eventually(lambda: f" {door.CLIENT_GONE} " in caplog.text)
    assert not worker.jobs


async def test_a_body_that_never_ends_is_given_up(monkeypatch):
    monkeypatch.setattr("memsift_producer.gateway.body.BODY_WITHIN_S", 0.1)
    async with listening(redis_url=NOWHERE) as url:
        reader, writer = await raw_post(url, "/rerank", BODY[:20], **{"content-length": len(BODY)})
        head = await asyncio.wait_for(reader.readline(), 5)
        writer.close()
    assert head.startswith(b"HTTP/1.1 408 ")


async def test_many_calls_on_one_connection_are_answered_in_order(valkey_url, queue, worker):
    async with listening(redis_url=valkey_url, queue=queue, deadline_ms=8_000) as url:
        reader, writer = await raw_post(url, "/rerank", BODY)
        for _ in range(3):
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 ")
            length = next(
                int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.startswith(b"content-length")
            )
            assert len(orjson.loads(await reader.readexactly(length))["results"]) == 3
            writer.write(
                b"POST /rerank HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
                b"content-length: %d\r\n\r\n" % len(BODY) + BODY
            )
        writer.close()
