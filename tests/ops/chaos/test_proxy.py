"""The proxy passes, delays, resets and swallows."""

import asyncio
import contextlib

import pytest

from memsift_ops.chaos.proxy import Route


@pytest.fixture
async def route():
    """A route to a server that echoes, and a way to connect to it."""

    async def echo(reader, writer):
        while data := await reader.read(100):
            writer.write(data)
        writer.close()

    target = await asyncio.start_server(echo, "127.0.0.1", 0)
    one = Route(target.sockets[0].getsockname()[1])
    door = await asyncio.start_server(one.connected, "127.0.0.1", 0)
    one.port = door.sockets[0].getsockname()[1]
    writers = []

    async def connect():
        reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
        writers.append(writer)
        return reader, writer

    one.connect = connect
    yield one
    for writer in writers:
        writer.close()
    one.become("reset", 0)
    door.close()
    target.close()


async def said(reader, writer, data):
    writer.write(data)
    return await asyncio.wait_for(reader.read(100), 5)


async def test_bytes_pass(route):
    assert await said(*await route.connect(), b"hello") == b"hello"


async def test_a_reset_ends_open_connections_and_new_ones(route):
    reader, writer = await route.connect()
    assert await said(reader, writer, b"hello") == b"hello"
    route.become("reset", 0)
    with pytest.raises(ConnectionResetError):
        await asyncio.wait_for(reader.read(1), 5)
    with contextlib.suppress(ConnectionResetError):
        assert await said(*await route.connect(), b"hello") == b""


async def test_a_black_hole_swallows_until_it_ends(route):
    reader, writer = await route.connect()
    assert await said(reader, writer, b"a") == b"a"
    route.become("blackhole", 0)
    writer.write(b"b")
    other = await route.connect()
    other[1].write(b"c")
    for waiting in (reader, other[0]):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(waiting.read(1), 0.05)
    route.become("pass", 0)
    assert await asyncio.wait_for(reader.read(1), 5) == b"b"
    assert await asyncio.wait_for(other[0].read(1), 5) == b"c"


async def test_a_delay_takes_its_time_in_both_directions(route):
    route.become("pass", 40)
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await said(*await route.connect(), b"hello") == b"hello"
    assert loop.time() - began >= 0.08


async def test_a_dead_target_is_a_reset(route):
    gone = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
    route.target = gone.sockets[0].getsockname()[1]
    gone.close()
    await gone.wait_closed()
    reader, _ = await route.connect()
    with contextlib.suppress(ConnectionResetError):
        assert await asyncio.wait_for(reader.read(1), 5) == b""
