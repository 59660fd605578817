"""Taking memories out of a user's decks, when the user edits or deletes them."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import TypeAdapter, ValidationError
from redis.asyncio import Redis

from memsift_producer.question import MAX_DEADLINE_S
from memsift_schemas.errors import InvalidInput, NotForgotten, describe
from memsift_schemas.keys import decks_key, forgotten_key
from memsift_schemas.memory import DEFERRED, Id
from memsift_schemas.redis_link import REDIS_FAULTS, tell

_IDS = TypeAdapter(tuple[Id, ...], config=DEFERRED)
# A job that was sent before still holds the memory, and must not bring it back.
REMEMBERED_S = int(MAX_DEADLINE_S)


async def forget(redis: Redis, queue: str, *, user: str, memories: Sequence[str]) -> None:
    """Drop every deck of the user, and keep these memories out of new ones until no job can hold them.

    First the ids are noted, then the decks are dropped: a turn in between cannot put one back.

    Args:
        redis: the connection.
        queue: the queue.
        user: whose memories these are.
        memories: their ids.

    Raises:
        InvalidInput: an id is none.
        NotForgotten: Redis could not be told.
    """
    try:
        ids = _IDS.validate_python(tuple(memories))
        (name,) = _IDS.validate_python((user,))
    except ValidationError as error:
        raise InvalidInput(f"user or memories: {describe(error)}") from None
    if not ids:
        return
    noted = forgotten_key(queue, name)
    try:
        await redis.sadd(noted, *ids)
        await redis.expire(noted, REMEMBERED_S)
        decks = await redis.smembers(decks_key(queue, name))
        if decks:
            await redis.delete(*decks)
    except REDIS_FAULTS as fault:
        raise NotForgotten(
            f"Redis could not be told ({tell(fault)}): ask again. A deck goes by itself, MEMSIFT_DECK_TTL_S "
            "after the last turn of its session"
        ) from None
