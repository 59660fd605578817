"""Servers and workers that a test starts in its own way: bounded waits, and an end with the test."""

import contextlib
import os
import time

from redis import Redis
from redis.exceptions import RedisError

from memsift_ops import services, valkey
from memsift_ops.child import Child

PATIENCE_S = 30.0


def until(condition, seconds=PATIENCE_S, child=None):
    """Wait for a condition; shows a child's last lines if it does not come true."""
    give_up_at = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > give_up_at or (child is not None and child.returncode is not None):
            raise AssertionError("\n".join(child.last_lines(40)) if child else "not in time")
        time.sleep(0.05)
    return value


def answers(url, **options):
    with contextlib.suppress(RedisError, OSError), Redis.from_url(url, socket_timeout=1, **options) as client:
        return client.ping()
    return False


class Servers:
    """Child processes of one test."""

    def __init__(self, folder):
        self.folder = folder
        self.children = []

    def start(self, name, argv, **environment):
        child = Child(name, argv, environment={**os.environ, "PYTHONUNBUFFERED": "1", **environment})
        self.children.append(child)
        return child

    def stop(self):
        while self.children:
            child = self.children.pop()
            child.terminate()
            child.wait(hurry=lambda: False)

    def valkey(self, port, *, config=None, mode=()):
        """A server in a folder of its own; not waited for."""
        folder = self.folder / str(port)
        folder.mkdir(exist_ok=True)
        binary = valkey.command(port)[0]
        given = [] if config is None else [str(config)]
        argv = [binary, *given, "--port", str(port), "--dir", str(folder), *mode]
        return self.start(f"valkey {port}", argv)

    def worker(self, url, queue, *, seen_by=None, patience_s=PATIENCE_S, **settings):
        """A worker with the runtime that has no model, ready to take jobs.

        Args:
            url: of its Redis.
            queue: what it drains.
            seen_by: a URL whose user may list keys, if the worker's may not.
            patience_s: how long it may take to be ready.
            **settings: environment variables, without MEMSIFT_; and what `begin_worker` takes.
        """
        child = self.begin_worker(url, queue, **settings)
        until(lambda: services.ready_workers(seen_by or url, queue), patience_s, child)
        return child

    def begin_worker(self, url, queue, *, name="access", level="INFO", app=services.APP, **settings):
        """As `worker`, not waited for.

        Args:
            url: of its Redis.
            queue: what it drains.
            name: before its @.
            level: what it logs.
            app: where its Celery app is.
            **settings: environment variables, without MEMSIFT_.
        """
        environment = {"runtime": "scripted", "scripted_ms": 1, "redis_url": url, "queue": queue, **settings}
        variables = {f"MEMSIFT_{name.upper()}": str(value) for name, value in environment.items()}
        command = [app if part == services.APP else part for part in services.worker_command(name, level)]
        return self.start(name, command, **variables)
