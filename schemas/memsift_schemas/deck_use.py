"""What a session's deck spared the model, and why it spared no more."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from memsift_schemas.memory import Model


class Miss(StrEnum):
    """Why less of a prompt came from the prefix cache than the session's last prompt held of it."""

    FIRST_TURN = "first_turn"  # there was no last prompt
    DECK_CHANGED = "deck_changed"  # a memory was edited or taken out, or the deck was rebuilt
    OTHER_RUNTIME = "other_runtime"  # another runtime had the last prompt
    EVICTED = "evicted"  # this one had it, and has given its KV up meanwhile


class DeckUse(Model):
    """A turn's deck.

    Attributes:
        turn: which prompt of the session this was, from 1.
        memories: how many memories it showed.
        stale: how many of them were no candidates of this turn.
        tokens: of all memories, with the instructions before them.
        stale_tokens: of those that were no candidates.
        expected_tokens: how many tokens this prompt had in common with the session's last one.
        miss: why not all of what the last prompt held was cached; None where it was.
    """

    turn: int = Field(ge=1)
    memories: int = Field(ge=0)
    stale: int = Field(ge=0)
    tokens: int = Field(ge=0)
    stale_tokens: int = Field(ge=0)
    expected_tokens: int = Field(ge=0)
    miss: Miss | None = None
