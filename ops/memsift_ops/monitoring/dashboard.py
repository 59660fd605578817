"""The Grafana dashboard; `make docs` writes ops/grafana/dashboards/memsift.json with it."""

from __future__ import annotations

import json
from typing import Any

from memsift_ops.monitoring.panels import DATASOURCE, laid_out
from memsift_ops.monitoring.rows import ROWS
from memsift_schemas.metrics import catalogue

# Grafana 10.4 and newer read this version, and bring it up to date themselves.
SCHEMA = 39
UID = "memsift"


def dashboard() -> dict[str, Any]:
    """The whole of it, as Grafana's file provider reads it."""
    return {
        "uid": UID,
        "title": "memsift",
        "description": "Answers, queue, workers, prefix cache, Redis and breaker. Made by `make docs`.",
        "tags": ["memsift"],
        "schemaVersion": SCHEMA,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "templating": {
            "list": [
                {
                    "name": "datasource",
                    "label": "Prometheus",
                    "type": "datasource",
                    "query": "prometheus",
                    "refresh": 1,
                },
                _choice("queue", f"label_values({catalogue.QUEUE_JOBS.name}, queue)"),
                # Every process of ours shows this one.
                _choice("instance", f"label_values({catalogue.REDIS_UP.name}, instance)"),
            ]
        },
        "annotations": {"list": []},
        "links": [],
        "panels": laid_out(ROWS),
    }


def _choice(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": name,
        "type": "query",
        "datasource": DATASOURCE,
        "query": {"query": query, "refId": "A"},
        "definition": query,
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def page() -> str:
    """The file."""
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201  # this module's whole purpose
