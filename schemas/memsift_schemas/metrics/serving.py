"""`/metrics` on a port of its own, so that who may read it is decided apart from everything else.

Processes that share a directory (`PROMETHEUS_MULTIPROC_DIR`) share the port as well: the kernel hands a
scrape to any of them (`SO_REUSEPORT`), and each answers for all.
"""

from __future__ import annotations

import errno
import glob
import logging
import os
import re
import socket
import socketserver
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

from memsift_schemas.errors import SettingsError
from memsift_schemas.metrics.instruments import SHARED_DIRECTORY, is_shared, library

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

log = logging.getLogger("memsift.metrics")

# A scraper that says nothing for this long is gone.
SCRAPER_S = 5.0
# A predecessor that is still finishing its jobs holds the port; it is tried again this often.
AGAIN_S = 1.0
# How soon a server that is closed notices.
LOOK_S = 0.2
_LIVE = re.compile(r"gauge_live[a-z]+_(\d+)\.db")

Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


class MetricsServer:
    """Serves until it is closed, from a thread of its own.

    Args:
        registry: what is collected.
        host: the address; this machine alone by default.
        port: the port; 0 takes any.

    Attributes:
        port: where it listens; 0 while another process has the port.

    Raises:
        SettingsError: no such address, or a port that this user may not take.
    """

    def __init__(self, registry: CollectorRegistry, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self._app = _application(registry)
        self._closed = threading.Event()
        self._address = _resolved(host, port)
        self._server = self._listen()
        self.port = self._server.server_port if self._server else 0
        if self._server is None:
            log.warning(
                "no metrics yet: port %d is taken. Give each process on a machine its own port, or all of "
                "them one directory in %s (docs/metrics.md)",
                port,
                SHARED_DIRECTORY,
            )
        self._thread = threading.Thread(target=self._run, name="memsift-metrics", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop; a scrape under way may end."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while self._server is None and not self._closed.wait(AGAIN_S):
            self._server = self._listen()
        if self._server is None:
            return
        self.port = self._server.server_port
        with self._server:
            while not self._closed.is_set():
                self._server.handle_request()

    def _listen(self) -> _Server | None:
        try:
            return _Server(self._address, self._app)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return None
            raise SettingsError(f"metrics cannot be served on {self._address[1]}: {error.strerror}") from None


class _Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True
    timeout = LOOK_S

    def __init__(self, address: tuple[socket.AddressFamily, Any], app: Wsgi) -> None:
        self.address_family = address[0]
        self.allow_reuse_port = is_shared()
        super().__init__(address[1], _Handler)
        self.set_app(app)

    def server_bind(self) -> None:
        # Not HTTPServer's, which asks the name server who we are.
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]
        self.setup_environ()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A scraper that went away is nobody's business."""


class _Handler(WSGIRequestHandler):
    timeout = SCRAPER_S

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """No line a scrape."""


def own_registry() -> CollectorRegistry:
    """A registry for a process that is all memsift's: a worker, a gateway.

    With it come the process's own memory, CPU and files, where it counts alone.
    """
    client = library()
    # When each series began; nothing here uses it, and it doubles the series.
    client.disable_created_metrics()
    registry = client.CollectorRegistry()
    if not is_shared():
        client.ProcessCollector(registry=registry)
    return registry  # type: ignore[no-any-return]


def _application(registry: CollectorRegistry) -> Wsgi:
    client = library()
    if is_shared():
        from prometheus_client.multiprocess import MultiProcessCollector  # noqa: PLC0415  # reads the variable

        registry = client.CollectorRegistry()
        try:
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        except ValueError:
            raise SettingsError(
                f"{SHARED_DIRECTORY}: is no directory; make an empty one before the first process starts"
            ) from None
    whole: Wsgi = client.make_wsgi_app(registry)

    def metrics_alone(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/metrics":
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [b"/metrics\n"]
        if is_shared():
            forget_the_dead()
        return whole(environ, start_response)

    return metrics_alone


def forget_the_dead() -> None:
    """Drop what processes that are gone said of themselves now; what they have counted stays."""
    from prometheus_client.multiprocess import mark_process_dead  # noqa: PLC0415

    directory = os.environ[SHARED_DIRECTORY]
    names = (Path(path).name for path in glob.glob(f"{glob.escape(directory)}/gauge_live*.db"))  # noqa: PTH207
    pids = {int(found[1]) for name in names if (found := _LIVE.fullmatch(name))}
    for pid in pids:
        if not _lives(pid):
            mark_process_dead(pid, directory)  # type: ignore[no-untyped-call]


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, Any]:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise SettingsError(f"MEMSIFT_METRICS_HOST: no such address ({error.strerror})") from None
    return family, address
