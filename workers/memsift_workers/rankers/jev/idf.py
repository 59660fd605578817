"""How many of a user's memories hold a term: counted in Redis as memories pass, without a word of them.

Two keys a user, `{queue}:jev:{user's hash}:seen` (hashes of the memories that were counted) and `...:df` (a
hash of how many hold each term, by the term's hash), both under one TTL. Bounded twice: at most
`WorkerSettings.jev_idf_memories` memories are counted for a user, and `TERMS_PER_MEMORY` terms of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from redis.asyncio import Redis

from memsift_schemas.job import RerankJob
from memsift_workers.rankers.jev.analysis import analyse, analyse_query
from memsift_workers.rankers.jev.lexical import NOTHING_COUNTED, Collection

TERMS_PER_MEMORY = 64
# Below 2^63, so that Redis keeps a set of up to 512 of them as sorted integers, 8 bytes each.
_MEMORY_HASH_BYTES = 7
_TERM_HASH_BYTES = 6
_USER_HASH_BYTES = 12
# Counts each memory once however many workers see it at the same time.
_COUNT = """
local seen, df, most, ttl = KEYS[1], KEYS[2], tonumber(ARGV[1]), ARGV[2]
local at = 3
while at <= #ARGV do
  local terms = tonumber(ARGV[at + 1])
  if redis.call('SCARD', seen) < most and redis.call('SADD', seen, ARGV[at]) == 1 then
    for term = at + 2, at + 1 + terms do redis.call('HINCRBY', df, ARGV[term], 1) end
  end
  at = at + 2 + terms
end
redis.call('EXPIRE', seen, ttl)
redis.call('EXPIRE', df, ttl)
"""


@dataclass(frozen=True, slots=True)
class Counted:
    """What Redis knew about a job's user.

    Attributes:
        collection: for `features`.
        full: whether the user's memories are all counted that ever will be.
    """

    collection: Collection = field(repr=False)
    full: bool


class IdfStore:
    """Reads and counts, a batch of jobs in one round trip each.

    Args:
        redis: the connection.
        queue: separates deployments that share a server.
        key: an optional secret; without it, who reads Redis could try words against the hashes.
        memories: at most this many are counted for a user.
        ttl_s: counts of a user who does not come back live this long.

    All methods raise what redis-py raises; see `REDIS_FAULTS`.
    """

    def __init__(self, redis: Redis, *, queue: str, key: str, memories: int, ttl_s: int) -> None:
        self._redis = redis
        self._queue = queue
        self._key = blake2b(key.encode(), digest_size=32).digest()
        self._memories = memories
        self._ttl_s = ttl_s

    async def read(self, jobs: Sequence[RerankJob]) -> list[Counted]:
        """What is known for each job: the size of its user's collection and the holders of its terms."""
        terms = [list(analyse_query(job.query).text.counts) for job in jobs]
        async with self._redis.pipeline(transaction=False) as pipe:
            for job, words in zip(jobs, terms, strict=True):
                seen, holders = self._keys(job.user)
                salt = self._salt(job.user)
                pipe.scard(seen)
                pipe.smismember(seen, [_memory_hash(salt, memory.id) for memory in job.candidates])
                # HMGET wants a field; an empty one is never counted.
                pipe.hmget(holders, [_term_hash(salt, word) for word in words] or [b""])
            answers = await pipe.execute()
        return [self._counted(words, *answers[3 * at : 3 * at + 3]) for at, words in enumerate(terms)]

    async def count(self, jobs: Sequence[RerankJob], known: Sequence[Counted]) -> None:
        """Count the memories that no job brought before, and let all counts live on.

        Args:
            jobs: a batch.
            known: what `read` said of each.
        """
        async with self._redis.pipeline(transaction=False) as pipe:
            for job, counted in zip(jobs, known, strict=True):
                pipe.eval(_COUNT, 2, *self._keys(job.user), *self._arguments(job, counted))
            await pipe.execute()

    def _counted(
        self, words: list[str], size: int, members: Iterable[int], holders: Iterable[Any]
    ) -> Counted:
        found = {word: int(count) for word, count in zip(words, holders, strict=False) if count}
        places = frozenset(at for at, is_member in enumerate(members) if is_member)
        return Counted(Collection(int(size), found, places), full=int(size) >= self._memories)

    def _arguments(self, job: RerankJob, counted: Counted) -> list[bytes | int]:
        arguments: list[bytes | int] = [self._memories, self._ttl_s]
        if counted.full:
            return arguments
        salt = self._salt(job.user)
        for at, memory in enumerate(job.candidates):
            if at not in counted.collection.counted:
                terms = list(analyse(memory.text).counts)[:TERMS_PER_MEMORY]
                arguments += [_memory_hash(salt, memory.id), len(terms)]
                arguments += [_term_hash(salt, term) for term in terms]
        return arguments

    def _salt(self, user: str) -> bytes:
        """Of one user, so that the same word of two users cannot be told to be the same."""
        return blake2b(user.encode(), key=self._key, digest_size=32).digest()

    def _keys(self, user: str) -> tuple[str, str]:
        name = self._salt(user)[:_USER_HASH_BYTES].hex()
        # The braces put both keys into one slot of a Redis cluster.
        return f"{self._queue}:jev:{{{name}}}:seen", f"{self._queue}:jev:{{{name}}}:df"


def unknown(jobs: Sequence[RerankJob]) -> list[Counted]:
    """What there is to say while Redis is away: the candidates alone tell the idf."""
    return [Counted(NOTHING_COUNTED, full=False)] * len(jobs)


def _memory_hash(salt: bytes, memory_id: str) -> int:
    return int.from_bytes(blake2b(memory_id.encode(), key=salt, digest_size=_MEMORY_HASH_BYTES).digest())


def _term_hash(salt: bytes, term: str) -> bytes:
    return blake2b(term.encode(), key=salt, digest_size=_TERM_HASH_BYTES).digest()
