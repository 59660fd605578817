"""What a ranker costs by a price file, from the tokens and the time that were measured."""

from __future__ import annotations

import datetime
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, TypeAdapter, ValidationError

from memsift_ops.errors import Refused
from memsift_ops.evaluation import names
from memsift_ops.evaluation.outcome import CALLS, PREFILTER, Outcome
from memsift_schemas.errors import describe
from memsift_schemas.ranker_names import RANKERS
from memsift_workers.rankers.prices import Prices

# `--prices default` is the file that comes with the package.
DEFAULT = "default"
SHIPPED = Path(__file__).with_name("prices.toml")
MS_AN_HOUR = 3_600_000
# Nothing reads tokens there.
WITHOUT_TOKENS = (PREFILTER, "jev")
# What needs no service: without a table it costs what its machine does, which is not counted.
OWN = (*WITHOUT_TOKENS, "local")


class Table(BaseModel):
    """Prices of one ranker, in US dollars."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    usd_per_million_prompt_tokens: FiniteFloat = Field(0.0, ge=0)
    usd_per_million_cached_tokens: FiniteFloat | None = Field(None, ge=0)
    usd_per_million_output_tokens: FiniteFloat = Field(0.0, ge=0)
    usd_per_call: FiniteFloat = Field(0.0, ge=0)
    usd_per_machine_hour: FiniteFloat = Field(0.0, ge=0)
    calls_per_hour: FiniteFloat | None = Field(None, gt=0)

    @property
    def per_token(self) -> Prices:
        """What tokens cost."""
        prompt, cached = self.usd_per_million_prompt_tokens, self.usd_per_million_cached_tokens
        return Prices(prompt, self.usd_per_million_output_tokens, cached)

    @property
    def by_time(self) -> bool:
        """Whether the measured time decides what a call costs."""
        return self.usd_per_machine_hour > 0 and self.calls_per_hour is None


_TABLES = TypeAdapter(dict[str, Table])


@dataclass(frozen=True, slots=True)
class PriceFile:
    """Prices by ranker.

    Attributes:
        name: of the file.
        date: of the prices, as the file tells it; "" when it does not.
        tables: by the name of a ranker, a part of a chain or a chain.
    """

    name: str
    date: str
    tables: Mapping[str, Table]

    def per_million(self, ranker: str, outcomes: Sequence[Outcome]) -> float | None:
        """US dollars for a million calls, from what these answered ones took.

        Returns:
            None when there is none, or when what one of them cost is not known.
        """
        costs = [self._of_call(ranker, outcome) for outcome in outcomes]
        known = [cost for cost in costs if cost is not None]
        return statistics.fmean(known) * CALLS if known and len(known) == len(costs) else None

    def as_json(self) -> dict[str, str]:
        """Which prices a report was made with."""
        return {"name": self.name, "date": self.date}

    def _of_call(self, ranker: str, outcome: Outcome) -> float | None:
        tables = self._tables_of(ranker)
        if tables is None:
            return None
        parts = [_of_tokens(tables, outcome), _of_machines(list(tables.values()), outcome)]
        known = [part for part in parts if part is not None]
        by_call = sum(table.usd_per_call for table in tables.values())
        return by_call + sum(known) if len(known) == len(parts) else None

    def _tables_of(self, ranker: str) -> dict[str, Table] | None:
        """The table of the whole chain, else of each part; None when a part's price is not known."""
        for name in (ranker, names.asked(ranker)):
            if name in self.tables:
                return {name: self.tables[name]}
        found = {}
        for part in ranker.split(">"):
            plain = names.asked(part)
            table = self.tables.get(part) or self.tables.get(plain) or (Table() if plain in OWN else None)
            if table is None:
                return None
            found[part] = table
        return found


def load(name: str) -> PriceFile:
    """Read a price file.

    Args:
        name: its path, or "default" for the one that comes with the package.

    Raises:
        Refused: it cannot be read, or something in it is no price.
    """
    path = SHIPPED if name == DEFAULT else Path(name)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        date = data.pop("date", "")
        tables = _TABLES.validate_python(data)
    except OSError as error:
        raise Refused(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise Refused(f"{path.name}: is not UTF-8") from None
    except ValidationError as error:
        raise Refused(f"{path.name}: {describe(error)}") from None
    except tomllib.TOMLDecodeError as error:
        raise Refused(f"{path.name}: is no TOML: {error}") from None
    if not isinstance(date, (str, datetime.date)):
        raise Refused(f"{path.name}: date: write it as in 2026-11-29")
    for ranker in tables:
        known = all(part in (PREFILTER, *RANKERS) for part in names.parts(ranker))
        if not known or names.strategy(ranker) not in (None, *names.STRATEGIES):
            raise Refused(f"{path.name}: {ranker}: rankers are {', '.join(RANKERS)}, and chains of them")
    return PriceFile(DEFAULT if name == DEFAULT else path.name, str(date), tables)


def _of_tokens(tables: Mapping[str, Table], outcome: Outcome) -> float | None:
    """A chain's tokens are counted together, so what they cost is known if all its parts have one price."""
    prices = {table.per_token for name, table in tables.items() if name not in WITHOUT_TOKENS}
    free = {Prices(), Prices(cached=0.0)}
    if prices <= free:
        return 0.0
    # A call that read no token was not counted by its server: that is not the same as free.
    if len(prices) > 1 or not outcome.prompt_tokens:
        return None
    (price,) = prices
    return price.cost(
        prompt_tokens=outcome.prompt_tokens,
        output_tokens=outcome.output_tokens,
        cached_tokens=outcome.cached_tokens,
    )


def _of_machines(tables: Sequence[Table], outcome: Outcome) -> float | None:
    """By calls an hour where the file tells them, else by the time that the ranking took.

    The time is not divided by the questions under way at once: how much of it they shared is not known. So it
    is what a machine costs that is always busy with one call, and never less than it was.
    """
    given = sum(table.usd_per_machine_hour / table.calls_per_hour for table in tables if table.calls_per_hour)
    by_time = [table.usd_per_machine_hour for table in tables if table.by_time]
    if not by_time:
        return given
    # Of a chain only the whole time is known.
    if len(by_time) > 1 or outcome.rank_ms is None:
        return None
    return given + by_time[0] * outcome.rank_ms / MS_AN_HOUR


def own_cost(cost_per_million: float | None, *, leaves_network: bool | None) -> float | None:
    """What rankers told of their cost: nothing known where a public service was asked and told no price."""
    return None if leaves_network and not cost_per_million else cost_per_million


def fill(
    sets: Mapping[str, Mapping[str, dict[str, Any]]], outcomes: Sequence[Outcome], prices: PriceFile | None
) -> None:
    """Put the cost of a million calls into the numbers of a report.

    Args:
        sets: set -> ranker -> numbers, which tell `leaves_network`.
        outcomes: of the whole report.
        prices: None leaves what the rankers told themselves.
    """
    answered: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        if outcome.cause is None:
            answered.setdefault((outcome.set, outcome.ranker), []).append(outcome)
    for name, found in sets.items():
        for ranker, numbers in found.items():
            numbers["cost_per_million"] = (
                own_cost(numbers["cost_per_million"], leaves_network=numbers["leaves_network"])
                if prices is None
                else prices.per_million(ranker, answered.get((name, ranker), []))
            )
