"""BM25 with the idf of the user's memories, as far as they are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memsift_workers.rankers.jev.analysis import Text

Floats = NDArray[np.float64]

# BM25 as Anserini ships it, for short passages; the prefilter's values, measured there.
_K1 = 0.9
_B = 0.4
# The user's memories count in the idf as this many candidates. On the evaluation sets the candidates alone do
# best when there are many of them (recall chose them by the question's words, so what most of them hold tells
# none apart), the user's memories when there are few. Macro MRR without and with the user's memories as this
# prior: 50 candidates .761 and .761, 20 .751 and .750, 8 .727 and .731; by the user's memories alone .759,
# .748 and .730.
PRIOR_MEMORIES = 10


@dataclass(frozen=True, slots=True)
class Collection:
    """What is known of a user's memories beside the candidates.

    Attributes:
        size: how many memories were counted.
        holders: how many of them hold a term.
        counted: positions of the candidates that are among them.
    """

    size: int = 0
    holders: Mapping[str, int] = field(default_factory=dict, repr=False)
    counted: frozenset[int] = frozenset()


NOTHING_COUNTED = Collection()


def term_scores(terms: Sequence[str], texts: Sequence[Text], collection: Collection) -> Floats:
    """BM25 of every term in every text: len(texts) × len(terms).

    Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework"; idf as in Lucene, never negative,
    over the candidates and `PRIOR_MEMORIES` more in which a term is as frequent as in the user's memories.
    """
    if not terms:
        return np.zeros((len(texts), 0))
    lengths = np.array([text.length for text in texts], dtype=np.float64)
    counts = np.array([[text.counts.get(term, 0) for term in terms] for text in texts], dtype=np.float64)
    own = np.count_nonzero(counts, axis=0)
    fresh = np.ones(len(texts), dtype=np.bool_)
    fresh[list(collection.counted)] = False
    known = np.array([collection.holders.get(term, 0) for term in terms])
    # Of the user's memories, with those candidates that are not yet counted: counting them changes nothing.
    share = (known + np.count_nonzero(counts[fresh], axis=0)) / max(
        collection.size + np.count_nonzero(fresh), 1
    )
    size = len(texts) + PRIOR_MEMORIES
    # A store that lost a part of its counts may hold more holders than memories.
    holders = own + PRIOR_MEMORIES * np.minimum(share, 1.0)
    idf = np.log1p((size - holders + 0.5) / (holders + 0.5))
    norm = _K1 * (1 - _B + _B * lengths / (lengths.mean() or 1.0))
    scores: Floats = counts * (_K1 + 1) / (counts + norm[:, None]) * idf
    return scores
