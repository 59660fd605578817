"""What became of a deck, told by the runtime's own counts."""

from __future__ import annotations

from memsift_schemas.deck_use import DeckUse, Miss
from memsift_workers.decks.laid import Laid
from memsift_workers.runtimes.base import Answer

# A prefix cache serves whole blocks (32 tokens in the embedded engine, 1 in SGLang as it comes, up to 64 with
# its paged backends) and computes the last token of a prompt again.
BLOCK_TOKENS = 64


def deck_use(laid: Laid, answer: Answer, *, runtime: str) -> DeckUse:
    """What the first prompt of a job had from the cache, and why no more.

    Args:
        laid: its deck. The prefix is one piece of instructions, one for each memory, and then, if there is
            any, a heading and a piece for each line of the conversation.
        answer: to that prompt.
        runtime: which runtime gave it.
    """
    pieces = answer.prefix_tokens
    tokens = pieces[1 : 1 + len(laid.entries)]
    stale = [count for count, place in zip(tokens, laid.places, strict=False) if place is None]
    common = 0 if laid.turn == 1 else 1 + laid.kept + (1 + laid.kept_talk if laid.kept_talk else 0)
    expected = sum(pieces[:common])
    return DeckUse(
        turn=laid.turn,
        memories=len(laid.entries),
        stale=laid.places.count(None),
        tokens=sum(pieces[: 1 + len(laid.entries)]),
        stale_tokens=sum(stale),
        expected_tokens=expected,
        miss=_miss(laid, answer.cached_tokens, expected, runtime),
    )


def _miss(laid: Laid, cached: int, expected: int, runtime: str) -> Miss | None:
    if laid.turn == 1:
        return Miss.FIRST_TURN
    if laid.runtime != runtime:
        return Miss.OTHER_RUNTIME
    if cached + BLOCK_TOKENS < expected:
        return Miss.EVICTED
    return Miss.DECK_CHANGED if laid.changed else None
