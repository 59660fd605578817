"""`memsift mcp`: on stdin and stdout, or on this machine's HTTP; how it ends, and what it refuses."""

import contextlib
import signal
import socket
import subprocess
import sys

import pytest
from mcp import Client

from memsift_ops import valkey
from memsift_ops.child import Child
from tests.ops.processes import marked, until

NOWHERE = {"MEMSIFT_REDIS_URL": "redis://127.0.0.1:1/0"}
COMMAND = [sys.executable, "-m", "memsift_ops", "mcp"]
HELLO = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",'
    b'"capabilities":{},"clientInfo":{"name":"t","version":"1"}}}\n'
)


@contextlib.contextmanager
def started(*options):
    environment, _ = marked()
    process = subprocess.Popen(
        [*COMMAND, *options],
        env={**environment, **NOWHERE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.stack
def test_it_ends_with_0_when_its_agent_closes_stdin():
    with started() as process:
        process.stdin.write(HELLO)
        process.stdin.flush()
        # Then stdout holds the protocol alone
        assert process.stdout.readline().startswith(b'{"jsonrpc":"2.0","id":1,"result":')
        rest, _ = process.communicate(timeout=30)
        assert (process.returncode, rest) == (0, b"")


@pytest.mark.stack
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_it_though_stdin_is_open(number, code):
    with started() as process:
        process.stdin.write(HELLO)
        process.stdin.flush()
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(30) == code


@pytest.mark.stack
async def test_over_http_it_serves_this_machine():
    port = valkey.free_port(0)
    environment, _ = marked()
    child = Child("mcp", [*COMMAND, "--http", f"--port={port}"], environment={**environment, **NOWHERE})
    try:
        url = f"http://127.0.0.1:{port}/mcp"
        assert until(lambda: _listens(port), 30)
        assert any(url in line for line in child.last_lines(9))
        async with Client(url) as client:
            asked = {"query": "Where is the key?", "memories": ["The key is under the pot."]}
            result = await client.call_tool("rerank_memories", asked)
        assert result.structured_content["source"] == "prefilter"
    finally:
        child.terminate()
        child.wait(hurry=lambda: False)


def _listens(port):
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def test_a_taken_port_and_a_wrong_setting_are_refused(run, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = run("mcp", "--http", f"--port={taken.getsockname()[1]}")
    assert code == 2
    assert "choose another --port" in err
    monkeypatch.setenv("MEMSIFT_GATEWAY_MAX_BYTES", "0")
    code, _, err = run("mcp")
    assert code == 2
    assert err.startswith("memsift: MEMSIFT_GATEWAY_MAX_BYTES: ")
