"""Panels and rows of a Grafana dashboard, laid out from left to right.

https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

WIDTH = 24
HEIGHT = 8
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True, slots=True)
class Line:
    """One query of a panel.

    Attributes:
        expr: PromQL.
        legend: Grafana's template for its lines.
    """

    expr: str
    legend: str = ""


@dataclass(frozen=True, slots=True)
class Panel:
    """One picture.

    Attributes:
        title: above it.
        lines: its queries.
        about: what it tells, and what is well.
        unit: Grafana's name of the unit.
        kind: Grafana's type of panel.
        width: of 24.
        highest: the upper end of its axis; None lets Grafana choose.
        stacked: areas on top of each other, for parts of a whole.
    """

    title: str
    lines: Sequence[Line]
    about: str
    unit: str = "short"
    kind: str = "timeseries"
    width: int = 8
    highest: float | None = None
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under one heading."""

    title: str
    panels: Sequence[Panel]


def laid_out(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Grafana's panels, numbered and placed."""
    placed: list[dict[str, Any]] = []
    top = 0
    for row in rows:
        placed.append(_heading(row.title, len(placed) + 1, top))
        top, left = top + 1, 0
        for panel in row.panels:
            if left + panel.width > WIDTH:
                top, left = top + HEIGHT, 0
            placed.append(_panel(panel, len(placed) + 1, left, top))
            left += panel.width
        top += HEIGHT
    return placed


def _heading(title: str, number: int, top: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": "row",
        "title": title,
        "collapsed": False,
        "gridPos": {"x": 0, "y": top, "w": WIDTH, "h": 1},
        "panels": [],
    }


def _panel(panel: Panel, number: int, left: int, top: int) -> dict[str, Any]:
    targets = [
        {
            "refId": chr(ord("A") + at),
            "datasource": DATASOURCE,
            "expr": line.expr,
            "legendFormat": line.legend or "__auto",
            "instant": panel.kind == "table",
            "range": panel.kind != "table",
            **({"format": "table"} if panel.kind == "table" else {}),
        }
        for at, line in enumerate(panel.lines)
    ]
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": DATASOURCE,
        "gridPos": {"x": left, "y": top, "w": panel.width, "h": HEIGHT},
        "fieldConfig": {"defaults": _field(panel), "overrides": []},
        "options": _options(panel),
        "targets": targets,
    }


def _field(panel: Panel) -> dict[str, Any]:
    field: dict[str, Any] = (
        {"unit": panel.unit, "min": 0} if panel.kind == "timeseries" else {"unit": panel.unit}
    )
    if panel.highest is not None:
        field["max"] = panel.highest
    if panel.kind == "timeseries":
        field["custom"] = {
            "fillOpacity": 30 if panel.stacked else 5,
            "showPoints": "never",
            "stacking": {"mode": "normal" if panel.stacked else "none", "group": "A"},
        }
    return field


def _options(panel: Panel) -> dict[str, Any]:
    if panel.kind == "timeseries":
        return {
            "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }
    if panel.kind == "stat":
        return {
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "graphMode": "area",
        }
    return {}
