"""From one turn's deck to the next. Pure functions, no I/O."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from memsift_workers.decks.sizes import estimate

# A deck over a limit is cut down to this part of it, so that not every turn cuts. Of five conversations of
# `locomo_obs` (12 turns, 20 candidates, 4,096 tokens; prompt tokens kept from the turn before): .9 .864,
# .75 .861, .5 .852; building anew from the candidates and what was used last, half full, .821.
TRIM = 0.9
# Where the candidates alone fill a deck, it may still be larger by this: else each one that is missing for a
# turn would cost all that stands behind it.
SLACK = 1.25

# Tokens of a line.
Size = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Entry:
    """A memory in the deck.

    Attributes:
        id: the memory's.
        line: its text as the prompt shows it.
        used: the turn in which it was last a candidate.
        tokens: about how many it takes.
    """

    id: str
    line: str = field(repr=False)
    used: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Deck:
    """What a session's last prompt showed.

    Attributes:
        entries: its memories, in order.
        talk: digests of the lines of conversation behind them.
        turn: how many prompts the session has had.
        debt: tokens that carrying unused memories has cost more than it saved, since the deck was built.
        runtime: which runtime answered last, and holds the KV.
    """

    entries: tuple[Entry, ...] = ()
    talk: tuple[str, ...] = ()
    turn: int = 0
    debt: float = 0.0
    runtime: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a deck is carried on.

    Attributes:
        memories: most memories in it.
        tokens: most tokens in it, or `SLACK` times those of the turn's candidates if that is more.
        carry: what carrying one token for one turn costs, in tokens prefilled.
    """

    memories: int
    tokens: int
    carry: float


@dataclass(frozen=True, slots=True)
class Dealt:
    """A deck for one more turn.

    Attributes:
        entries: the memories, in order.
        kept: how many of the first ones stand where the last prompt had them.
        changed: whether anything that the last prompt showed has gone or moved.
        debt: see `Deck`.
    """

    entries: tuple[Entry, ...]
    kept: int
    changed: bool
    debt: float


def deal(
    deck: Deck, candidates: Sequence[tuple[str, str]], limits: Limits, *, size: Size = estimate
) -> Dealt:
    """The deck for a turn with these candidates.

    What the last prompt showed stays in place, new memories are appended in the order given. An edited memory
    leaves at once; since all behind it must be prefilled anyway, what is unused there leaves with it.

    The rest is a matter of cost. A memory that is no candidate costs `carry` of its tokens each turn and
    saves all of them when it comes back. When carrying has cost more than prefilling the candidates anew
    would, all unused ones leave: the ski-rental rule, which costs at most twice what knowing the future would
    (Karlin et al. 1988, "Competitive snoopy caching"). From a deck over its limits the last unused ones
    leave, however lately they were used: so the longest part of the prompt stays as it is.

    Args:
        deck: of the last turn.
        candidates: id and line of each; ids unique, not more than `limits.memories`.
        limits: when to rebuild.
        size: tells the tokens of a line.
    """
    turn = deck.turn + 1
    lines = dict(candidates)
    whole = _without_edited(deck.entries, lines)
    standing = tuple(
        Entry(one.id, one.line, turn if one.id in lines else one.used, size(one.line)) for one in whole
    )
    there = {one.id for one in standing}
    fresh = tuple(Entry(id_, line, turn, size(line)) for id_, line in candidates if id_ not in there)
    entries = standing + fresh
    revived = sum(one.tokens for one in whole if one.id in lines and one.used < deck.turn)
    unused = sum(one.tokens for one in entries if one.used < turn)
    live = sum(one.tokens for one in entries if one.used == turn)
    debt = max(deck.debt + unused * limits.carry - revived, 0.0)
    room = max(limits.tokens, int(live * SLACK))
    if unused and (len(entries) > limits.memories or live + unused > room):
        entries = _trimmed(entries, turn, int(limits.memories * TRIM), int(room * TRIM))
    elif unused and debt >= live:
        entries, debt = _trimmed(entries, turn, 0, 0), 0.0
    kept = _common(deck.entries, entries)
    return Dealt(entries, kept, changed=kept < len(deck.entries), debt=debt)


def _without_edited(entries: tuple[Entry, ...], lines: dict[str, str]) -> tuple[Entry, ...]:
    """Without memories whose text has changed, and without the unused ones behind the first of them."""
    edited = [at for at, one in enumerate(entries) if lines.get(one.id, one.line) != one.line]
    if not edited:
        return entries
    first = edited[0]
    return entries[:first] + tuple(one for one in entries[first:] if lines.get(one.id) == one.line)


def _trimmed(entries: tuple[Entry, ...], turn: int, memories: int, tokens: int) -> tuple[Entry, ...]:
    """Without the unused ones from the first on with which the deck would exceed this size."""
    memories -= sum(one.used == turn for one in entries)
    tokens -= sum(one.tokens for one in entries if one.used == turn)
    for at, one in enumerate(entries):
        if one.used == turn:
            continue
        memories, tokens = memories - 1, tokens - one.tokens
        if memories < 0 or tokens < 0:
            return entries[:at] + tuple(behind for behind in entries[at:] if behind.used == turn)
    return entries


def _common(before: tuple[Entry, ...], after: tuple[Entry, ...]) -> int:
    """How many of the first entries are the same memory with the same text."""
    count = 0
    for one, other in zip(before, after, strict=False):
        if (one.id, one.line) != (other.id, other.line):
            break
        count += 1
    return count
