"""Start and stop the server.

By hand, from the repository's root; prints the URL and serves until Ctrl-C:

    python -m tests.sglang_cpu.server --port 30000

With `--prepare` it only installs what is missing.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.sglang_cpu.environment import Environment, ensure_environment, say
from tests.sglang_cpu.weights import MODEL, ensure_weights

HOST = "127.0.0.1"
START_SECONDS = 240.0
"""20-40 s measured on two cores, nearly all of it imports; the first start also compiles them to bytecode."""
STOP_SECONDS = 15.0
LOG_LINES = 30
"""How much of the log is shown when it does not start."""

FLAGS = (
    *("--device", "cpu", "--attention-backend", "torch_native"),
    # float32 takes three times as long on a processor with bfloat16 instructions.
    *("--dtype", "bfloat16"),
    # 0.4 GB of KV; as it comes it takes most of the memory.
    *("--max-total-tokens", "16384", "--max-running-requests", "32", "--chunked-prefill-size", "2048"),
    *("--schedule-policy", "lpm", "--grammar-backend", "xgrammar"),
    # Otherwise this model fills its JSON with line breaks until it has no token left.
    "--constrained-json-disable-any-whitespace",
    "--enable-cache-report",
    # Otherwise an idle server keeps a core busy.
    "--sleep-on-idle",
    # Otherwise /health says 503 until a long prompt has gone through.
    "--skip-server-warmup",
)


def prepare() -> tuple[Environment, Path]:
    """Install what is missing; gives the environment and the model's folder."""
    environment = ensure_environment()
    return environment, ensure_weights(environment)


@contextmanager
def serve(port: int = 0) -> Iterator[str]:
    """Run a server; gives its base URL once it is healthy, and ends all its processes afterwards.

    Args:
        port: 0 takes a free one.

    Raises:
        RuntimeError: it did not become healthy; the end of its log has been shown.
    """
    environment, model = prepare()
    port = port or _free_port()
    log = environment.home / "server.log"
    command = [str(environment.python), "-m", "sglang.launch_server", "--host", HOST, "--port", str(port)]
    command += ["--model-path", str(model), "--served-model-name", MODEL, *FLAGS]
    with log.open("wb") as output:
        # A session of its own, so that the scheduler and detokenizer that it spawns can be ended with it.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment.variables(),
            start_new_session=True,
        )
    url = f"http://{HOST}:{port}"
    try:
        _wait_until_healthy(process, url, log)
        yield url
    finally:
        _stop(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_healthy(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    say(f"starting on {url}, log in {log}")
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < START_SECONDS:
        with suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=10):
            say(f"healthy after {time.monotonic() - began:.0f} s")
            return
        time.sleep(0.5)
    for line in log.read_text(errors="replace").splitlines()[-LOG_LINES:]:
        say(line)
    raise RuntimeError(f"SGLang did not start (exit status {process.poll()}); its log is {log}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the whole group; the second signal also finds what outlived its leader."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, kind)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)


def main() -> None:
    """Serve until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--port", type=int, default=30000, help="0 takes a free one")
    parser.add_argument("--prepare", action="store_true", help="only install what is missing")
    arguments = parser.parse_args()
    if arguments.prepare:
        prepare()
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), serve(arguments.port) as url:
        print(url, flush=True)  # noqa: T201 - the answer of the command
        signal.pause()


if __name__ == "__main__":
    main()
