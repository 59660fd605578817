"""What embeddings tell: how similar a memory is to the question, and which memories nearly agree.

The only part of the frontend that needs numpy, which is over half of what it would install: the extra
`embeddings`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from memsift_schemas.errors import InvalidInput
from memsift_schemas.memory import Memory

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float64]

LEAST_COSINE = 0.92  # the design's


def cosines(memories: Sequence[Memory], query_embedding: Sequence[float]) -> list[float]:
    """Cosine of each memory's vector with the query's; NaN where there is none of that length, or it is 0.

    Raises:
        InvalidInput: `query_embedding` is empty or not finite, or numpy is not installed.
    """
    if not len(query_embedding) or not all(map(math.isfinite, query_embedding)):
        raise InvalidInput("query_embedding: must be finite numbers, at least one")
    fitting = [
        (place, memory.embedding)
        for place, memory in enumerate(memories)
        if memory.embedding is not None and len(memory.embedding) == len(query_embedding)
    ]
    found = [math.nan] * len(memories)
    if fitting:
        values = _unit_rows([vector for _, vector in fitting]) @ _unit_rows([query_embedding])[0]
        for (place, _), value in zip(fitting, values.tolist(), strict=True):
            found[place] = value
    return found


def comparable(one: Memory, other: Memory) -> bool:
    """Whether both have vectors, of one length."""
    return bool(one.embedding and other.embedding and len(one.embedding) == len(other.embedding))


def near(memories: Sequence[Memory]) -> Iterable[tuple[int, int]]:
    """Pairs of places, the smaller first, whose cosine is above `LEAST_COSINE`.

    Raises:
        InvalidInput: there are vectors, and numpy is not installed.
    """
    for places in _by_length(memories).values():
        unit = _unit_rows([memories[place].embedding or () for place in places]).astype("float32")
        # einsum rather than BLAS, whose threads wait for each other for milliseconds on busy cores.
        alike = _numpy().einsum("id,jd->ij", unit, unit) > LEAST_COSINE
        for first, second in zip(*(found.tolist() for found in alike.nonzero()), strict=True):
            if first < second:
                yield places[first], places[second]


def _by_length(memories: Sequence[Memory]) -> dict[int, list[int]]:
    """Places of the memories that have vectors, by the vector's length."""
    groups: dict[int, list[int]] = {}
    for place, memory in enumerate(memories):
        if memory.embedding:
            groups.setdefault(len(memory.embedding), []).append(place)
    return groups


def _unit_rows(vectors: Sequence[Sequence[float]]) -> Rows:
    """Vectors of one length, each scaled to length 1; a zero vector becomes NaN, as it has no direction."""
    numpy = _numpy()
    rows = numpy.array(vectors, dtype=numpy.float64)
    largest = numpy.abs(rows).max(axis=1, keepdims=True)
    rows = rows / numpy.where(largest > 0, largest, math.nan)  # first, so that squares cannot overflow
    unit: Rows = rows / numpy.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def _numpy() -> Any:
    try:
        import numpy  # noqa: PLC0415  # most frontends send no embeddings
    except ImportError:
        raise InvalidInput("embedding: needs numpy: pip install 'memsift[embeddings]'") from None
    return numpy
