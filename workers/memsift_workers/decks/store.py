"""Decks in Redis: one key a session, with a TTL, changed by compare-and-set.

A user's index names the decks that there are, so that a frontend can take a memory out of all of them at
once; what it took out is remembered for as long as a job that still holds it may be on its way.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from redis.asyncio import Redis

from memsift_schemas.keys import deck_key, decks_key, forgotten_key
from memsift_schemas.sealing import KeyRing
from memsift_workers.decks import codec
from memsift_workers.decks.deck import Deck

_VERSION_BYTES = 12

# KEYS: deck, the user's index, the user's forgotten memories.
# ARGV: version that was read, new version and deck, TTL in s, the ids in the deck.
# Gives 1 when the deck is kept, 0 when another turn was faster or a memory in it is to be forgotten.
SAVE = f"""
if redis.call('GETRANGE', KEYS[1], 0, {_VERSION_BYTES - 1}) ~= ARGV[1] then return 0 end
if redis.call('EXISTS', KEYS[3]) == 1 then
  for at = 4, #ARGV do
    if redis.call('SISMEMBER', KEYS[3], ARGV[at]) == 1 then return 0 end
  end
end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
redis.call('SADD', KEYS[2], KEYS[1])
redis.call('EXPIRE', KEYS[2], ARGV[3])
return 1
"""


@dataclass(frozen=True, slots=True)
class Session:
    """Whose conversation."""

    user: str
    name: str


@dataclass(frozen=True, slots=True)
class Held:
    """A deck and the version of it that was read; empty for a session that has none."""

    deck: Deck
    version: bytes = field(default=b"", repr=False)


class DeckStore:
    """Reads and saves decks, any number in one round trip each.

    All methods raise what redis-py raises; see `REDIS_FAULTS`.

    Args:
        redis: the connection.
        queue: separates deployments that share a server.
        ring: seals decks, as it does jobs.
        ttl_s: the deck of a session that is silent lives this long.
    """

    def __init__(self, redis: Redis, *, queue: str, ring: KeyRing | None, ttl_s: int) -> None:
        self._redis = redis
        self._save = redis.register_script(SAVE)
        self._queue = queue
        self._ring = ring
        self._ttl_s = ttl_s

    async def load(self, sessions: Sequence[Session]) -> list[Held]:
        """What there is for each session."""
        if not sessions:
            return []
        keys = [self._key(session) for session in sessions]
        found: list[Any] = await self._redis.mget(keys)
        return [self._held(key, raw) for key, raw in zip(keys, found, strict=True)]

    async def save(self, changed: Sequence[tuple[Session, Held, Deck]]) -> list[bool]:
        """Put each deck in the place of the one that was read; which of them are kept.

        Args:
            changed: session, what was read of it, and its new deck.
        """
        async with self._redis.pipeline(transaction=False) as pipe:
            for session, held, deck in changed:
                key = self._key(session)
                value = secrets.token_bytes(_VERSION_BYTES) + codec.encode(deck, ring=self._ring, key=key)
                keys = [key, decks_key(self._queue, session.user), forgotten_key(self._queue, session.user)]
                ids = [one.id for one in deck.entries]
                await self._save(keys, [held.version, value, self._ttl_s, *ids], client=pipe)
            return [answer == 1 for answer in await pipe.execute()]

    async def drop(self, sessions: Sequence[Session]) -> None:
        """Let these sessions begin anew."""
        if sessions:
            await self._redis.delete(*(self._key(session) for session in sessions))

    async def close(self) -> None:
        """Close the connection."""
        await self._redis.aclose()

    def _key(self, session: Session) -> str:
        return deck_key(self._queue, session.user, session.name)

    def _held(self, key: str, raw: bytes | None) -> Held:
        if not raw:
            return Held(Deck())
        return Held(codec.decode(raw[_VERSION_BYTES:], ring=self._ring, key=key), raw[:_VERSION_BYTES])
