"""Labels whose logits can be read: one token each, no two the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def usable(ids: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
    """The labels that are one token, and not the token of one before them.

    Args:
        ids: the token ids of each label.
    """
    taken: set[int] = set()
    found = []
    for label, tokens in ids.items():
        if len(tokens) == 1 and tokens[0] not in taken:
            taken.add(tokens[0])
            found.append(label)
    return tuple(found)
