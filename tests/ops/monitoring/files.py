"""The dashboard and the rules as files."""

import json
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]
GRAFANA = ROOT / "ops" / "grafana"
PROMETHEUS = ROOT / "ops" / "prometheus"
DASHBOARD = json.loads((GRAFANA / "dashboards" / "memsift.json").read_text())
RULES = [
    rule
    for path in sorted((PROMETHEUS / "rules").glob("*.yml"))
    for group in yaml.safe_load(path.read_text())["groups"]
    for rule in group["rules"]
]
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]


def filled(expr, window="1m"):
    """A query with the dashboard's variables filled in as Grafana does for "All"."""
    for name in ("queue", "instance"):
        expr = expr.replace(f"${name}", ".*")
    return expr.replace("$__rate_interval", window)
