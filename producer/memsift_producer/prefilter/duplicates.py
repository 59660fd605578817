"""Near-duplicates among memories; the newest of them survives.

Two memories say the same when their embeddings nearly agree or, where embeddings are missing, when one holds
all the words of the other, in their order, and little more. Either way they must agree in every particular:
numbers, times, negations and names. A similarity threshold alone cannot do it: of two memories that differ
in one name alone (who likes which dance) the character trigrams agree to 84%.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from memsift_producer.prefilter.embeddings import comparable, near
from memsift_producer.prefilter.particulars import same_particulars
from memsift_schemas.memory import Memory
from memsift_schemas.words import CACHED_TEXTS, fold, stem

# The share of the longer text's distinct words that the shorter one has. Of 18 rewordings written by hand it
# finds 17, and of 33 pairs that differ in one particular it merges one; trigrams (Jaccard .7) 8 and 10, word
# sets (.8) 13 and 11. On the evaluation sets it drops 100 of 91,884 candidates, all but one no answer (and
# that one word for word the survivor).
LEAST_OVERLAP = 0.75
# With fewer words a rotation may be a swap: "Oslo, Bergen" and "Bergen, Oslo".
_LEAST_ROTATED = 4
# A memory of 450 characters has some 60 distinct words, one of 2,000 characters 250.
_SIGNATURE_BITS = 512

_ENGLISH_FILLERS = """
a an the that this these those is are was were be been being am do does did has have had will would can could
ca wo in on at of for as so very really quite just also too already actually user users s m re ve ll d
"""
_FILLERS = frozenset(_ENGLISH_FILLERS.split())
_NEGATION = re.compile(r"(?<=can)not\b|n['’]t\b")
# One of them is in all that it matches; looking for these takes a hundredth of the time.
_NEGATIVES = ("cannot", "n't", "n’t")
_CHINESE_FILLERS = re.compile("非常|特别|真的|其实|已经|一个|一下|用户|[的地得了着过吗呢吧啊呀嘛很也都就还]")
_WORD = re.compile(r"[^\W_\u3400-\u9fff\uf900-\ufaff]+|[\u3400-\u9fff\uf900-\ufaff]")


def duplicates(memories: Sequence[Memory]) -> frozenset[int]:
    """Positions of memories that a newer one repeats; see `repeats`."""
    return frozenset(repeats(memories))


def repeats(memories: Sequence[Memory]) -> dict[int, int]:
    """Positions of memories that a newer one repeats, each with that one's, which stays.

    Of two that are equally new the first stays; one whose time is unknown counts as the oldest. A memory
    goes only for one that stays: in a chain of rewordings whose ends differ, both ends stay.
    """
    alike = _alike(memories)
    if not alike:
        return {}
    newest_first = sorted(range(len(memories)), key=lambda place: _newness(memories[place]), reverse=True)
    rank = {place: at for at, place in enumerate(newest_first)}
    gone: dict[int, int] = {}
    for newer in sorted(alike, key=rank.__getitem__):
        if newer in gone:
            continue
        for older in alike[newer]:
            if older not in gone and rank[older] > rank[newer] and _same(memories[newer], memories[older]):
                gone[older] = newer
    return gone


def _newness(memory: Memory) -> float:
    return -math.inf if memory.created_at is None else memory.created_at.timestamp()


def _alike(memories: Sequence[Memory]) -> dict[int, set[int]]:
    """Places of memories that may be duplicates of one another, both ways."""
    alike: dict[int, set[int]] = {}
    by_words = (
        (one, other)
        for one, other in _contained([words(memory.text) for memory in memories])
        if not comparable(memories[one], memories[other])
    )
    for one, other in chain(by_words, near(memories)):
        alike.setdefault(one, set()).add(other)
        alike.setdefault(other, set()).add(one)
    return alike


def _contained(bags: Sequence[Words]) -> Iterator[tuple[int, int]]:
    """Pairs of which one seems to have all words of the other, and that is `LEAST_OVERLAP` of its own.

    By their signatures, so that a few may be wrong: `_in_order` sees which.
    """
    by_size = sorted(range(len(bags)), key=lambda at: bags[at].distinct)
    larger = [(bags[at].distinct, ~bags[at].signature, at) for at in by_size]
    for rank, one in enumerate(by_size, start=1):
        signature, most = bags[one].signature, bags[one].distinct / LEAST_OVERLAP
        for size, lacks, other in larger[rank:]:
            if size > most:
                break
            if not signature & lacks:
                yield one, other


def _same(newer: Memory, older: Memory) -> bool:
    """Whether a pair that may be duplicates is one, by a look at the texts."""
    first, second = words(newer.text).sequence, words(older.text).sequence
    embedded = comparable(newer, older)
    # An embedding hardly tells who lends whom; a rewording has other words, not the same in another order.
    if (not embedded or _same_words(first, second)) and not _in_order(first, second):
        return False
    return same_particulars(newer.text, older.text)


def _same_words(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return len(one) == len(other) and sorted(one) == sorted(other)


def _in_order(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether the shorter is the longer with words left out, or a clause has moved from end to front."""
    shorter, longer = sorted((one, other), key=len)
    rest = iter(longer)
    if all(word in rest for word in shorter):
        return True
    if not _LEAST_ROTATED <= len(shorter) == len(longer):
        return False
    return f" {' '.join(shorter)} " in f" {' '.join(longer * 2)} "


class Words(NamedTuple):
    """What the text measure sees of a text.

    Attributes:
        sequence: English stems and single Chinese characters, without fillers.
        distinct: how many distinct ones.
        signature: `_SIGNATURE_BITS` bits, of which each distinct one sets one (Bloom 1970, "Space/time
            trade-offs in hash coding with allowable errors"): a text that holds all words of another has all
            of its bits.
    """

    sequence: tuple[str, ...]
    distinct: int
    signature: int


@lru_cache(CACHED_TEXTS)
def words(text: str) -> Words:
    """What the text measure sees of a text."""
    plain = fold(text)
    if any(one in plain for one in _NEGATIVES):
        plain = _NEGATION.sub(" not", plain)
    if not plain.isascii():
        plain = _CHINESE_FILLERS.sub("", plain)
    found = _WORD.findall(plain)
    # A text of nothing but fillers and signs stands for itself.
    sequence = tuple([stem(word) for word in found if word not in _FILLERS]) or (text,)
    distinct = set(sequence)
    signature = 0
    for word in distinct:
        signature |= 1 << hash(word) % _SIGNATURE_BITS
    return Words(sequence, len(distinct), signature)
