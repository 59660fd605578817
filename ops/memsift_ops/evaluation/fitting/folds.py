"""Which questions are left out together when weights are tried on what they were not fitted on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.intp]
# How many there are, in every fit.
FOLDS = 5


def folds(groups: Sequence[str], count: int, *, seed: int) -> Iterator[tuple[Places, Places]]:
    """Split questions, the same part of every group in each fold.

    Args:
        groups: of each question, such as the name of its set.
        count: how many folds.
        seed: of the shuffle; the same one gives the same folds.

    Yields:
        Places of the questions to fit on, and of those left out.
    """
    random = np.random.default_rng(seed)
    order = random.permutation(len(groups))
    dealt = order[np.argsort(np.asarray(groups)[order], kind="stable")]
    fold = np.empty(len(groups), dtype=np.intp)
    fold[dealt] = np.arange(len(groups)) % count
    for left_out in range(count):
        yield np.flatnonzero(fold != left_out), np.flatnonzero(fold == left_out)
