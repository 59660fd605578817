"""`memsift hits`."""

from __future__ import annotations

from typing import Any

import click
from redis.exceptions import RedisError
from rich import box
from rich.markup import escape
from rich.table import Table

from memsift_ops import console, hits
from memsift_ops.errors import Failure
from memsift_ops.hits import HitRates
from memsift_schemas import settings as settings_module
from memsift_schemas.hits import HOUR_S, Series
from memsift_schemas.settings import ProducerSettings

_BARS = "▁▂▃▄▅▆▇█"
_COLUMNS = 14


@click.command("hits")
@click.option("--since", default="24h", show_default=True, help="How far back, in hours or days: 24h, 7d.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, with the counts of each hour.")
def command(*, since: str, as_json: bool) -> None:
    """Show the memory hit rate by ranker, model and prompt version, from frontends' feedback.

    Of the answers whose feedback names a memory that was used or missed: in how many at least one of these
    was in the prompt (any), and in how many all of them (all), each with its 95% interval (Wilson). Those are
    the rated ones; the others used no memory. Feedback is counted where frontends set MEMSIFT_FEEDBACK_TTL_S;
    see docs/decisions.md.
    """
    settings = settings_module.load(ProducerSettings)
    since_s = hits.span(since)
    try:
        found = hits.read(settings.redis_url, settings.queue, since_s=since_s)
    except (RedisError, OSError) as fault:
        raise Failure(
            f"Redis does not answer ({type(fault).__name__}): check MEMSIFT_REDIS_URL and the server"
        ) from None
    if as_json:
        console.print_json(found.as_json())
        return
    if not found.series:
        click.echo(f"no feedback in the last {since}: frontends need MEMSIFT_FEEDBACK_TTL_S and feedback()")
        return
    console.stdout().print(_table(found))


def _table(found: HitRates) -> Table:
    table = Table(box=box.ROUNDED, header_style="dim")
    table.add_column("who answered", overflow="fold", min_width=22)
    for name in ("rated", "any", "all"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("any, over time", no_wrap=True)
    for series, counted in found.series.items():
        told = hits.numbers(counted)
        table.add_row(
            escape("\n".join(filter(None, (series.ranker, series.model, series.prompt_version)))),
            f"{told['right']:,}\nof {told['told']:,}",
            *(_rate(told, what) for what in hits.RATES),
            _trend(found, series),
        )
    return table


def _rate(told: dict[str, Any], what: str) -> str:
    share = told[f"{what}_rate"]
    if share is None:
        return ""
    low, high = told[f"{what}_interval"]
    return f"{share:.1%}\n{100 * low:.1f} to {100 * high:.1f}"


def _trend(found: HitRates, series: Series) -> str:
    """A bar for each part of the time; a dot where no feedback named a right memory."""
    if not found.hours:
        return ""
    last = max(found.hours)
    first = last - (found.since_s - 1) // HOUR_S
    columns = min(_COLUMNS, last - first + 1)
    right, any_ = [0] * columns, [0] * columns
    for hour, by_series in found.hours.items():
        if series in by_series:
            at = (hour - first) * columns // (last - first + 1)
            right[at] += by_series[series]["right"]
            any_[at] += by_series[series]["any"]
    return "".join(
        _BARS[min(int(hit / of * len(_BARS)), len(_BARS) - 1)] if of else "·"
        for hit, of in zip(any_, right, strict=True)
    )
