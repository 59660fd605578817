"""A deck as bytes, sealed where jobs are."""

from __future__ import annotations

from typing import Any

import orjson

from memsift_schemas.errors import InvalidInput
from memsift_schemas.sealing import KeyRing
from memsift_workers.decks.deck import Deck, Entry

VERSION = 1


def encode(deck: Deck, *, ring: KeyRing | None, key: str) -> bytes:
    """What Redis holds of a deck.

    Args:
        deck: the deck.
        ring: seals it; None leaves it readable.
        key: the Redis key that it is kept under; a sealed deck opens under no other.
    """
    clear = orjson.dumps(
        {
            "v": VERSION,
            "turn": deck.turn,
            "debt": deck.debt,
            "runtime": deck.runtime,
            "talk": deck.talk,
            "entries": [[one.id, one.line, one.used, one.tokens] for one in deck.entries],
        }
    )
    return clear if ring is None else orjson.dumps(ring.seal(clear, direction="deck", job_id=key))


def decode(raw: bytes, *, ring: KeyRing | None, key: str) -> Deck:
    """The deck that was kept; an empty one for what cannot be read, since a deck can always begin anew."""
    try:
        data: Any = orjson.loads(raw)
        if ring is not None:
            data = orjson.loads(ring.open(data, direction="deck", job_id=key))
        if data["v"] != VERSION:
            return Deck()
        return Deck(
            entries=tuple(
                Entry(str(id_), str(line), int(used), int(tokens))
                for id_, line, used, tokens in data["entries"]
            ),
            talk=tuple(map(str, data["talk"])),
            turn=int(data["turn"]),
            debt=float(data["debt"]),
            runtime=str(data["runtime"]),
        )
    except (orjson.JSONDecodeError, InvalidInput, LookupError, TypeError, ValueError, AttributeError):
        return Deck()
