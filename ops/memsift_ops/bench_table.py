"""What the benchmarks print: one row a measure, its middle and its spread over the rounds."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

import click


def show(rows: Mapping[str, Sequence[float]]) -> None:
    """Median, least and most of each row's numbers, rounded to whole ones."""
    click.echo(f"{'':<25}{'median':>9}{'min':>9}{'max':>9}")
    for name, values in rows.items():
        click.echo(f"{name:<25}{statistics.median(values):>9.0f}{min(values):>9.0f}{max(values):>9.0f}")
