"""Valkey and workers for the tests of the TypeScript client, which order them by a line of JSON each.

    {"do": "valkey"}
    {"do": "guarded"}            # a Valkey with the users of ops/redis-acl.conf
    {"do": "worker", "url": ..., "queue": ..., ...settings}
    {"do": "signal", "pid": ..., "name": "SIGKILL"}

Every line is answered by one. All that was started ends with this process.
"""

import json
import os
import signal
import sys
import tempfile
from pathlib import Path

from memsift_ops import valkey
from tests.integration.servers import Servers, answers, until
from tests.integration.test_redis_access import Sample


def _obey(servers, order):
    match order.pop("do"):
        case "valkey":
            port = valkey.free_port(order.get("port", 0))
            child = servers.valkey(port)
            url = valkey.url(port)
            until(lambda: answers(url), child=child)
            return {"url": url, "port": port, "pid": child.pid}
        case "guarded":
            sample = Sample(servers)
            return {name: sample.url(name) for name in ("producer", "worker", "operator")}
        case "worker":
            child = servers.worker(order.pop("url"), order.pop("queue"), **order)
            return {"pid": child.pid}
        case "signal":
            os.killpg(order["pid"], signal.Signals[order["name"]])
            return {}
    raise ValueError("unknown order")


def main():
    """Obey until stdin ends."""
    with tempfile.TemporaryDirectory() as folder:
        servers = Servers(Path(folder))
        try:
            for line in sys.stdin:
                print(json.dumps(_obey(servers, json.loads(line))), flush=True)  # noqa: T201  # the answer
        finally:
            servers.stop()


if __name__ == "__main__":
    main()
