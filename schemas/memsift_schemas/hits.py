"""The memory hit rate: of the answers that used a memory, how many found the right ones in their prompt.

A call's *right* memories are those that feedback says were used or missed. Calls without any are told, and
count in no rate. `any` counts the calls that had at least one right memory among those picked, `all` those
that had every one. Both are kept by ranker, model and prompt version, an hour each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import orjson
from pydantic import ValidationError

from memsift_schemas.keys import digest
from memsift_schemas.memory import Id, Model
from memsift_schemas.result import RerankResult, Source

HOUR_S = 3_600
# How long an hour's counts are kept.
KEPT_S = 35 * 86_400
# Who answered when no worker did.
PREFILTER = "prefilter"

What = Literal["told", "right", "any", "all"]
WHATS: tuple[What, ...] = get_args(What)
Hit = Literal["all", "some", "none", "unused"]
"""One call's word: every right memory was in the prompt, some were, none was; or it used no memory."""
HITS: tuple[Hit, ...] = get_args(Hit)


class Picked(Model):
    """What must be known of a call when its feedback comes, perhaps in another process. Ids alone.

    Attributes:
        user: digest of whose call it was.
        ranker: who answered, `prefilter` where no worker did.
        model: which model it ran.
        prompt_version: which prompts it asked.
        ids: what went into the prompt.
    """

    user: str
    ranker: str
    model: str = ""
    prompt_version: str = ""
    ids: tuple[Id, ...] = ()

    @classmethod
    def of(cls, result: RerankResult, user: str) -> Picked:
        """What a call picked."""
        ranker = result.ranker if result.source is Source.MODEL else PREFILTER
        return cls.model_construct(
            user=digest(user),
            ranker=ranker,
            model=result.model,
            prompt_version=result.prompt_version,
            ids=result.selected or (),
        )

    @classmethod
    def read(cls, raw: bytes | str | None) -> Picked | None:
        """What Redis holds of a call; None for nothing that makes sense."""
        try:
            return None if raw is None else cls.model_validate_json(raw)
        except ValidationError:
            return None


@dataclass(frozen=True, slots=True, order=True)
class Series:
    """Whose hits: a ranker with its model and its prompts."""

    ranker: str
    model: str
    prompt_version: str

    @classmethod
    def of(cls, picked: Picked) -> Series:
        """The series that a call counts in."""
        return cls(picked.ranker, picked.model, picked.prompt_version)

    def field(self, what: What) -> bytes:
        """The name of a count in an hour's hash."""
        return orjson.dumps([self.ranker, self.model, self.prompt_version, what])


@dataclass(slots=True)
class Hits:
    """Counts of calls with feedback.

    Attributes:
        told: all of them.
        right: those with at least one right memory: what the rates are of.
        any: of these, those that had at least one right memory in the prompt.
        all: of these, those that had every right memory in the prompt.
    """

    counts: Counter[What] = field(default_factory=Counter)

    def __getitem__(self, what: What) -> int:
        return self.counts[what]


def judged(picked: Collection[str], *, used: Collection[str], missed: Collection[str]) -> list[What]:
    """In which counts one call's feedback counts.

    Args:
        picked: ids of what was in the prompt.
        used: ids of what the answer used.
        missed: ids of what should have been in the prompt.
    """
    right = {*used, *missed}
    found: list[What] = ["told"]
    if right:
        found.append("right")
        if right & set(picked):
            found.append("any")
        if right <= set(picked):
            found.append("all")
    return found


def hit(whats: Collection[What]) -> Hit:
    """The same in one word."""
    if "right" not in whats:
        return "unused"
    return "all" if "all" in whats else "some" if "any" in whats else "none"


def read_hour(fields: Mapping[bytes, bytes]) -> Iterator[tuple[Series, What, int]]:
    """The counts of an hour's hash; what cannot be read, such as a later release's, is passed over."""
    for name, value in fields.items():
        try:
            ranker, model, prompt_version, what = orjson.loads(name)
            count = int(value)
        except ValueError:
            continue
        if what in WHATS:
            yield Series(str(ranker), str(model), str(prompt_version)), what, count


def summed(hours: Mapping[int, Mapping[bytes, bytes]]) -> dict[Series, Hits]:
    """The counts of several hours together, by series."""
    found: dict[Series, Hits] = {}
    for fields in hours.values():
        for series, what, count in read_hour(fields):
            found.setdefault(series, Hits()).counts[what] += count
    return dict(sorted(found.items()))
