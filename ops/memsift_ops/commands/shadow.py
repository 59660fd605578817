"""`memsift shadow`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import click
from redis.exceptions import RedisError
from rich import box
from rich.markup import escape
from rich.table import Table

from memsift_ops import console, shadow
from memsift_ops.errors import Failure
from memsift_ops.shadow import ShadowReport
from memsift_schemas import settings as settings_module
from memsift_schemas.redis_faults import tell
from memsift_schemas.settings import ProducerSettings
from memsift_workers.shadow.tally import LIVE_MS, SHADOW_MS, Compared, Pair

_WORDS = {
    "first": "same memory first",
    "first_in_picks": "live's first is among the shadow's picks",
    "same_picks": "same memories picked",
    "top3": "common to the first three",
    "tau": "Kendall's tau",
    "rbo": "rank-biased overlap",
}


@click.group("shadow")
def command() -> None:
    """Compare the shadow ranker with the live one.

    Workers with MEMSIFT_SHADOW_SHARE copy that share of the jobs that they have answered; workers with
    MEMSIFT_SHADOW_RANKER rank the copies while they have nothing else to do. See docs/decisions.md.
    """


@command.command("report")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def report(*, as_json: bool) -> None:
    """Show how far they agree, what each took, and what became of the copies."""
    settings = settings_module.load(ProducerSettings)
    with _redis():
        found = shadow.read(settings.redis_url, settings.queue)
    if as_json:
        console.print_json(found.as_json())
        return
    if not found.sent and not found.found.failed:
        click.echo("nothing was copied: set MEMSIFT_SHADOW_SHARE and MEMSIFT_SHADOW_RANKER in workers")
        return
    for pair, compared in sorted(found.found.pairs.items()):
        console.stdout().print(_table(pair, compared))
        click.echo(shadow.sentence(pair, compared))
    click.echo(_copies(found))


@command.command("reset")
def reset() -> None:
    """Forget what was counted, and begin anew."""
    settings = settings_module.load(ProducerSettings)
    with _redis():
        there = shadow.reset(settings.redis_url, settings.queue)
    click.echo("the comparison begins anew" if there else "there was nothing to forget")


@contextlib.contextmanager
def _redis() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError) as fault:
        raise Failure(
            f"Redis does not do it ({tell(fault)}): check MEMSIFT_REDIS_URL and the server"
        ) from None


def _table(pair: Pair, compared: Compared) -> Table:
    live, other = (" ".join(filter(None, who)) for who in (pair.live, pair.shadow))
    table = Table(box=box.ROUNDED, header_style="dim")
    table.add_column(escape(f"{other} beside {live}"), overflow="fold")
    table.add_column(f"mean of {compared.jobs:,} jobs", justify="right")
    table.add_column("95% interval", justify="right")
    for name, words in _WORDS.items():
        low, high = shadow.interval(compared, name)
        table.add_row(words, f"{compared.mean(name):.2f}", f"{low:.2f} to {high:.2f}")
    table.add_section()
    for name, share in shadow.PERCENTILES.items():
        took, live_took = (compared.percentile(which, share) for which in (SHADOW_MS, LIVE_MS))
        told = "" if took is None else f"{took:.3g}"
        beside = "" if live_took is None else f"live, a batch: {live_took:.3g}"
        table.add_row(f"milliseconds, {name}", told, beside)
    return table


def _copies(found: ShadowReport) -> str:
    causes = ", ".join(f"{count:,} {cause}" for cause, count in sorted(found.found.failed.items()))
    return (
        f"of {found.sent:,} copies {found.dropped:,} were dropped because workers were busy, "
        f"{found.waiting:,} wait" + (f"; failed: {causes}" if causes else "")
    )
