"""From evidence to probabilities of relevance: curves fitted on labelled questions, kept in a JSON file.

    {"memsift_calibration": 1, "fitted_on": ["sha256..."], "curves": {"jev": {"method": "isotonic", ...}}}

A file holds one curve for each ranker; `prefilter` is the one that the frontend's fallback takes.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, FiniteFloat, ValidationError, model_validator

from memsift_schemas.errors import SettingsError, describe
from memsift_schemas.memory import Model

# The name by which the prefilter's curve is found.
PREFILTER = "prefilter"
_VARIABLE = "MEMSIFT_CALIBRATION"
_REMEDY = "fit one with `memsift eval --fit calibration`, or unset it"
# Beyond this a double's exponential is 0 or infinite.
_MOST_EXPONENT = 700.0

# Bounded, so that the distance of two knots is finite.
Evidence = Annotated[float, Field(ge=-1e9, le=1e9)]
Probability = Annotated[float, Field(ge=0, le=1)]


class Curve(Model):
    """How probably a memory with so much evidence is relevant; never falls as evidence grows.

    Attributes:
        method: `isotonic` (Zadrozny and Elkan 2002): lines between knots, flat outside of them; `platt`
            (Platt 1999): the logistic function of `slope * evidence + intercept`.
        knots: isotonic: pairs of evidence, rising, and probability, never falling.
        slope: platt: at least 0.
        intercept: platt.
        n: how many memories it was fitted on.
        positives: how many of them were relevant.
        model: the model that it holds for; "" for any, or where there is none.
    """

    method: Literal["isotonic", "platt"]
    knots: tuple[tuple[Evidence, Probability], ...] = ()
    slope: FiniteFloat = Field(default=0.0, ge=0)
    intercept: FiniteFloat = 0.0
    n: int = Field(ge=1)
    positives: int = Field(ge=0)
    model: str = ""

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if self.method == "isotonic" and not self.knots:
            raise ValueError("an isotonic curve needs at least one knot")
        if any(left[0] >= right[0] or left[1] > right[1] for left, right in pairwise(self.knots)):
            raise ValueError("evidence must rise and probability must not fall from knot to knot")
        if self.positives > self.n:
            raise ValueError("positives must not be more than n")
        return self

    def probability(self, evidence: float) -> float:
        """The probability of relevance, 0 to 1.

        Args:
            evidence: a finite number, in the unit that the curve was fitted in.
        """
        if self.method == "platt":
            exponent = -(self.slope * evidence + self.intercept)
            return 1 / (1 + math.exp(min(max(exponent, -_MOST_EXPONENT), _MOST_EXPONENT)))
        above = bisect_right(self.knots, evidence, key=lambda knot: knot[0])
        if above in (0, len(self.knots)):
            return self.knots[min(above, len(self.knots) - 1)][1]
        (left, low), (right, high) = self.knots[above - 1], self.knots[above]
        return min(low + (high - low) * ((evidence - left) / (right - left)), high)


class Calibration(Model):
    """The curves of a file.

    Attributes:
        memsift_calibration: the format's version.
        fitted_on: digests of the data sets, by which an evaluation knows that it would be in-sample.
        curves: by ranker, as a job names it (`jev`, `jev>local`), and `prefilter`.
    """

    memsift_calibration: Literal[1] = 1
    fitted_on: tuple[str, ...] = ()
    curves: dict[str, Curve] = Field(default_factory=dict)

    def curve(self, ranker: str, model: str = "") -> Curve | None:
        """The curve of a ranker; None when there is none, or it was fitted with another model."""
        found = self.curves.get(ranker)
        return None if found is None or found.model not in ("", model) else found


def load(path: str) -> Calibration:
    """Read a calibration file.

    Args:
        path: the file; "" for none, which calibrates nothing.

    Raises:
        SettingsError: it cannot be read, or is no calibration of this version.
    """
    if not path:
        return Calibration()
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise SettingsError(f"{_VARIABLE}: cannot read the file ({error.strerror}): {_REMEDY}") from None
    except ValueError:  # a NUL in the path
        raise SettingsError(f"{_VARIABLE}: is no path: {_REMEDY}") from None
    try:
        found = Calibration.model_validate_json(raw)
        if "memsift_calibration" not in found.model_fields_set:
            raise SettingsError(f"{_VARIABLE}: the file does not say `memsift_calibration`: {_REMEDY}")
    except ValidationError as error:
        raise SettingsError(f"{_VARIABLE}: is no calibration ({describe(error)}): {_REMEDY}") from None
    return found
