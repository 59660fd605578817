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
from collections.abc import Iterator, Sequence
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
    "--enable-metrics",
    # Otherwise an idle server keeps a core busy.
    "--sleep-on-idle",
    # Otherwise /health says 503 until a long prompt has gone through.
    "--skip-server-warmup",
)


def prepare() -> tuple[Environment, Path]:
    """Install what is missing; gives the environment and the model's folder."""
    environment = ensure_environment()
    return environment, ensure_weights(environment)


class Server:
    """A server on one port, which can be killed and started again.

    Args:
        port: 0 takes a free one.
        flags: beside the usual ones.
    """

    def __init__(self, port: int = 0, flags: Sequence[str] = ()) -> None:
        self._flags = tuple(flags)
        self._environment, self._model = prepare()
        self._port = port or free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://{HOST}:{self._port}"

    def start(self) -> None:
        """Run it and wait until it is healthy.

        Raises:
            RuntimeError: it did not become healthy; the end of its log has been shown.
        """
        log = self._environment.home / f"server-{self._port}.log"
        command = [str(self._environment.python), "-m", "sglang.launch_server"]
        command += ["--host", HOST, "--port", str(self._port)]
        command += ["--model-path", str(self._model), "--served-model-name", MODEL, *FLAGS, *self._flags]
        with log.open("wb") as output:
            # A session of its own, so that the scheduler and detokenizer that it spawns can be ended with it.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=self._environment.variables(),
                start_new_session=True,
            )
        wait_until_healthy(self._process, self.url, log)

    def kill(self) -> None:
        """As the system does it when memory is short: no last word."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the whole group; the second signal also finds what outlived its leader."""
        self._end(signal.SIGTERM, signal.SIGKILL)

    def _end(self, *signals: int) -> None:
        if self._process is None:
            return
        for kind in signals:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, kind)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(STOP_SECONDS)


@contextmanager
def serve(port: int = 0) -> Iterator[Server]:
    """Run a server; gives it once it is healthy, and ends all its processes afterwards.

    Args:
        port: 0 takes a free one.

    Raises:
        RuntimeError: it did not become healthy; the end of its log has been shown.
    """
    server = Server(port)
    try:
        server.start()
        yield server
    finally:
        server.stop()


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until_healthy(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait until `/health` says so.

    Raises:
        RuntimeError: it did not within `START_SECONDS`, or ended; the end of its log has been shown.
    """
    say(f"starting on {url}, log in {log}")
    began = time.monotonic()
    while process.poll() is None and time.monotonic() - began < START_SECONDS:
        with suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=10):
            say(f"healthy after {time.monotonic() - began:.0f} s")
            return
        time.sleep(0.5)
    for line in log.read_text(errors="replace").splitlines()[-LOG_LINES:]:
        say(line)
    raise RuntimeError(f"it did not start (exit status {process.poll()}); its log is {log}")


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
    with suppress(KeyboardInterrupt), serve(arguments.port) as server:
        print(server.url, flush=True)  # noqa: T201 - the answer of the command
        signal.pause()


if __name__ == "__main__":
    main()
