"""How the options of `memsift eval` are read, and under which headings its help shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import click

from memsift_ops import sectioned
from memsift_ops.evaluation import names, prices
from memsift_ops.evaluation.outcome import PREFILTER
from memsift_ops.evaluation.prices import PriceFile
from memsift_schemas.ranker_names import RANKERS


class Sectioned(sectioned.Sectioned):
    """`memsift eval`."""

    sections: ClassVar = {
        "What is measured": ("data", "sets", "limit", "seed", "in_sample_too"),
        "Who is measured": ("rankers", "strategies", "settings_path", "concurrency"),
        "What comes out": ("as_json", "html", "show_text", "run_path", "price_file"),
        "Learning instead of measuring": ("fit", "out", "method"),
    }


def rankers(_context: click.Context, _option: click.Parameter, value: str) -> list[str]:
    """The asked rankers, the prefilter first: everything is compared with it."""
    asked = _listed(value)
    for part in (part for name in asked if name != PREFILTER for part in name.split(">")):
        if part not in RANKERS:
            known = ", ".join((PREFILTER, *RANKERS))
            raise click.BadParameter(f"rankers are {known}, and chains of workers' ones such as a>b")
    return list(dict.fromkeys([PREFILTER, *asked]))


def strategies(_context: click.Context, _option: click.Parameter, value: str | None) -> list[str]:
    """The asked strategies, each once."""
    asked = list(dict.fromkeys(_listed(value or "")))
    if value is not None and (not asked or not set(asked) <= set(names.STRATEGIES)):
        raise click.BadParameter(f"strategies are {', '.join(names.STRATEGIES)}")
    return asked


def price_file(_context: click.Context, _option: click.Parameter, value: str | None) -> PriceFile | None:
    """The prices, read before anything is measured."""
    return None if value is None else prices.load(value)


def named(asked: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """The rankers as the report names them, with `local` once for each strategy.

    Raises:
        UsageError: there are strategies, but nobody has one.
    """
    if chosen and not any(names.WITH_STRATEGY in names.parts(ranker) for ranker in asked):
        raise click.UsageError("--strategy is how local asks: name local, or a chain with it, in --ranker")
    return names.with_strategies(asked, chosen) if chosen else list(asked)


def _listed(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]
