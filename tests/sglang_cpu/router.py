"""An sglang-router in front of servers that run already."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.sglang_cpu.environment import ensure_environment
from tests.sglang_cpu.server import HOST, STOP_SECONDS, free_port, wait_until_healthy


@contextmanager
def route(urls: Sequence[str], *, policy: str = "cache_aware") -> Iterator[str]:
    """Run a router; gives its URL once it is healthy.

    Args:
        urls: of the servers.
        policy: how it chooses among them.

    Raises:
        RuntimeError: it did not become healthy; the end of its log has been shown.
    """
    environment = ensure_environment()
    port, metrics = free_port(), free_port()
    log = environment.home / f"router-{port}.log"
    command = [str(environment.python), "-m", "sglang_router.launch_router", "--worker-urls", *urls]
    command += ["--host", HOST, "--port", str(port), "--prometheus-port", str(metrics), "--policy", policy]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment.variables(),
        )
    url = f"http://{HOST}:{port}"
    try:
        wait_until_healthy(process, url, log)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
