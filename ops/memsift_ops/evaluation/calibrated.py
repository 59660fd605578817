"""How far stated probabilities of relevance can be believed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

BINS = 10


def brier(probabilities: Sequence[float], relevant: Sequence[bool]) -> float:
    """Mean squared difference between probability and what was true (Brier 1950); 0 is best.

    Args:
        probabilities: at least one, from 0 to 1.
        relevant: what was true, same order.
    """
    return float(np.mean((np.asarray(probabilities) - np.asarray(relevant, dtype=np.float64)) ** 2))


def ece(probabilities: Sequence[float], relevant: Sequence[bool]) -> float:
    """Expected calibration error over ten bins of equal width (Guo et al. 2017); 0 is best.

    The mean distance between stated probability and share of relevant ones in a bin, each bin weighing as
    much as it holds. A bin holds its upper end, the first one 0 as well.

    Args:
        probabilities: at least one, from 0 to 1.
        relevant: what was true, same order.
    """
    stated, true = np.asarray(probabilities), np.asarray(relevant, dtype=np.float64)
    gaps = np.bincount(_bin(stated), weights=stated - true, minlength=BINS)
    return float(np.abs(gaps).sum() / len(stated))


def bins(probabilities: Sequence[float], relevant: Sequence[bool]) -> list[dict[str, float]]:
    """What a reliability diagram shows: of each bin of `ece` that holds some, lowest first.

    Args:
        probabilities: at least one, from 0 to 1.
        relevant: what was true, same order.

    Returns:
        How many (`n`), their mean probability (`stated`) and their share of relevant ones (`relevant`).
    """
    stated, true = np.asarray(probabilities), np.asarray(relevant, dtype=np.float64)
    at = _bin(stated)
    return [
        {
            "n": int(inside.sum()),
            "stated": float(stated[inside].mean()),
            "relevant": float(true[inside].mean()),
        }
        for inside in (at == number for number in np.unique(at))
    ]


def summary(probabilities: Sequence[float], relevant: Sequence[bool]) -> dict[str, Any] | None:
    """The numbers of a report; None without probabilities, that is, without a calibration."""
    if not probabilities:
        return None
    return {
        "brier": brier(probabilities, relevant),
        "ece": ece(probabilities, relevant),
        "base_rate": float(np.mean(relevant)),
        "n": len(probabilities),
        "bins": bins(probabilities, relevant),
    }


def _bin(stated: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.clip(np.ceil(stated * BINS).astype(np.int64) - 1, 0, BINS - 1)


def lines(sets: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[str]:
    """How good the calibration in use is, for people: a line for each set and ranker that has one."""
    return [
        f"{name}, {ranker}: calibration Brier {found['brier']:.4f} "
        f"(always saying {found['base_rate']:.3f}: {found['base_rate'] * (1 - found['base_rate']):.4f}), "
        f"ECE {found['ece']:.4f}"
        for name, rankers in sets.items()
        for ranker, numbers in rankers.items()
        if (found := numbers["calibration"]) is not None
    ]
