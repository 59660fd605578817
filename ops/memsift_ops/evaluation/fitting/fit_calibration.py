"""`memsift eval --fit calibration`: learns curves of relevance, writes them, and tells how well they hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from memsift_ops import console
from memsift_ops.datasets import Case
from memsift_ops.errors import Failure
from memsift_ops.evaluation.fitting import curves, settings_file
from memsift_ops.evaluation.fitting.curves import Method
from memsift_ops.evaluation.outcome import Outcome
from memsift_schemas.calibration import Calibration, Curve

Asked = Mapping[str, Sequence[Case]]


def run(
    asked: Asked,
    rankers: Sequence[str],
    outcomes: Sequence[Outcome],
    digests: Mapping[str, str],
    *,
    out: Path,
    method: Method,
    seed: int,
    as_json: bool,
) -> None:
    """Fit a curve for each ranker, write the calibration, and tell on stdout.

    Args:
        asked: the questions of each set.
        rankers: whose.
        outcomes: of all of them.
        digests: of each set.
        out: the file.
        method: of the curves.
        seed: of the folds.
        as_json: whether to tell it as JSON.

    Raises:
        Failure: there is no ranker that a curve can be fitted for.
        Refused: the file cannot be written.
    """
    found: dict[str, Curve] = {}
    told: dict[str, Any] = {}
    for ranker in rankers:
        given = curves.pairs(asked, ranker, outcomes)
        curve = curves.curve(given, method=method) if given.sets else None
        told[ranker] = None
        if curve is not None:
            found[ranker] = curve
            held = curves.out_of_fold(given, method=method, seed=seed)
            told[ranker] = {
                "n": curve.n,
                "positives": curve.positives,
                "model": curve.model,
                "out_of_fold": held,
            }
    if not found:
        raise Failure(
            "no ranker gave evidence for both relevant and other memories, so there is no curve to fit"
        )
    written = Calibration(fitted_on=tuple(digests.values()), curves=found)
    settings_file.write_text(out, written.model_dump_json(indent=2) + "\n")
    if as_json:
        about = {"fit": "calibration", "out": str(out), "fitted_on": dict(digests), "method": method}
        console.print_json({**about, "rankers": told})
    else:
        _tell(told, out)


def _tell(told: Mapping[str, Any], out: Path) -> None:
    for ranker, one in told.items():
        if one is None:
            click.echo(f"{ranker}: no curve, it gave no evidence for both relevant and other memories")
            continue
        click.echo(f"{ranker}: {one['n']:,} memories, {one['positives']:,} of them relevant")
        held = one["out_of_fold"]
        if held is not None:
            base = held["base_rate"] * (1 - held["base_rate"])
            click.echo(
                f"  on questions left out of the fit: Brier {held['brier']:.4f} "
                f"(always saying the base rate: {base:.4f}), ECE {held['ece']:.4f}"
            )
    click.echo(f"wrote {out}: set MEMSIFT_CALIBRATION to it for frontend and worker")
