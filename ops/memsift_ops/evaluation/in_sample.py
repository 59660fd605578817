"""Whether an evaluation would report on the questions that its weights or its calibration were fitted on."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from memsift_ops import datasets
from memsift_ops.errors import Refused
from memsift_ops.evaluation.fitting.settings_file import FITTED_ON
from memsift_ops.evaluation.questions import content_digest
from memsift_schemas import calibration, settings
from memsift_schemas.settings import ProducerSettings


def fitted_on() -> frozenset[str]:
    """Digests of the sets that the settings of this process were fitted on, its calibration included.

    Raises:
        SettingsError: the calibration cannot be read.
    """
    told = [digest.strip() for digest in os.environ.get(FITTED_ON, "").split(",")]
    curves = calibration.load(settings.load(ProducerSettings).calibration)
    return frozenset(told).union(curves.fitted_on) - {""}


def among(folder: Path, names: Sequence[str]) -> list[str]:
    """Those of these sets that something was fitted on, told by their content.

    Args:
        folder: where they are.
        names: the sets that are reported. One whose questions no memory answers also counts when its
            sibling among them does, against which it is measured.
    """
    known = fitted_on()
    if not known:
        return []
    direct = {name for name in names if content_digest(folder, name) in known}
    return [name for name in names if not direct.isdisjoint({name, datasets.sibling(name, names)})]


def refuse(names: Sequence[str]) -> None:
    """End the command.

    Raises:
        Refused: there is any name.
    """
    if names:
        raise Refused(
            f"the weights or the calibration in use were fitted on {', '.join(names)}, so a report on that "
            "would flatter them: measure with --set on another set, or give --in-sample to have it marked so"
        )


def mark(sets: Mapping[str, Mapping[str, dict[str, Any]]], names: Collection[str]) -> None:
    """Write into the numbers of each set and ranker whether they are in-sample."""
    for name, rankers in sets.items():
        for numbers in rankers.values():
            numbers["in_sample"] = name in names
