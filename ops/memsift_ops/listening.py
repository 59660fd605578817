"""What commands that serve HTTP share."""

from __future__ import annotations

import socket

from memsift_ops.errors import Refused


def check_free(host: str, port: int) -> None:
    """Make sure that an address can be listened on.

    Raises:
        Refused: it cannot; names the remedy.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
    except OSError as error:
        raise Refused(f"cannot listen on {host}:{port} ({error.strerror}): choose another --port") from None
