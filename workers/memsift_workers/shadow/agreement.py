"""How far two rankings of the same memories agree."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

# How fast a place counts for less in `rank_biased_overlap`: the first ten places have 86% of the weight.
PERSISTENCE = 0.9
TOP = 3


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of one job.

    Attributes:
        first: both put the same memory first.
        first_in_picks: the one's first memory is among the other's picks.
        same_picks: both pick the same memories, in whatever order.
        top3: which part of the first three they have in common, 0 to 1.
        tau: Kendall's, -1 to 1.
        rbo: rank-biased overlap, 0 to 1.
    """

    first: bool
    first_in_picks: bool
    same_picks: bool
    top3: float
    tau: float
    rbo: float


def agreement(one: Sequence[str], other: Sequence[str], *, top_k: int) -> Agreement:
    """Compare two rankings.

    Args:
        one: ids, best first; at least one.
        other: the same ids.
        top_k: how many the prompt holds.

    Raises:
        ValueError: they do not rank the same memories, or none.
    """
    if not one or len(one) != len(other) or set(one) != set(other):
        raise ValueError("two rankings can be compared where they rank the same memories")
    return Agreement(
        first=one[0] == other[0],
        first_in_picks=one[0] in other[:top_k],
        same_picks=set(one[:top_k]) == set(other[:top_k]),
        top3=overlap(one, other, TOP),
        tau=kendall_tau(one, other),
        rbo=rank_biased_overlap(one, other),
    )


def overlap(one: Sequence[str], other: Sequence[str], k: int) -> float:
    """Which part of their first k memories two rankings have in common; of all, where there are fewer."""
    return len(set(one[:k]) & set(other[:k])) / min(k, len(one))


def kendall_tau(one: Sequence[str], other: Sequence[str]) -> float:
    """Pairs in the same order less pairs in the other, of all (Kendall 1938); 1 for one memory."""
    count = len(one)
    if count < 2:  # noqa: PLR2004  # no pair
        return 1.0
    place = {id_: at for at, id_ in enumerate(other)}
    seen: list[int] = []
    turned = 0
    for at in (place[id_] for id_ in one):
        turned += len(seen) - bisect_left(seen, at)
        insort(seen, at)
    return 1.0 - 4.0 * turned / (count * (count - 1))


def rank_biased_overlap(one: Sequence[str], other: Sequence[str], p: float = PERSISTENCE) -> float:
    """Mean agreement of the first d places, each depth d weighing p times the one before it.

    Extrapolated as in Webber, Moffat and Zobel 2010, "A Similarity Measure for Indefinite Rankings", eq. 30.
    """
    seen_one, seen_other = set[str](), set[str]()
    common, total, weight = 0, 0.0, 1.0
    for depth, (left, right) in enumerate(zip(one, other, strict=True), start=1):
        common += (left in seen_other) + (right in seen_one) + (left == right)
        seen_one.add(left)
        seen_other.add(right)
        weight *= p
        total += common / depth * weight
    return common / len(one) * weight + (1 - p) / p * total
