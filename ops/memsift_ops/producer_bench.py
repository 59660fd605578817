"""What a call costs the frontend's process, and how long it keeps the event loop from others."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import time
import types
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from memsift_ops.drain_bench import QUERY, SENTENCE, SENTENCES
from memsift_ops.local import PATIENT
from memsift_producer import Reranker, preparation
from memsift_producer.prefilter import Prefiltered, Reader, prefilter
from memsift_schemas.collector import collect_less_often
from memsift_schemas.memory import Memory
from memsift_schemas.result import Source

MEMORIES = 50
# As many users as a process's caches of texts hold: their memories are known, as from the second question on.
USERS = 40
# So many calls are under way at once.
AT_ONCE = 16
DEADLINE_S = 20.0


@dataclass(frozen=True, slots=True)
class Round:
    """CPU of this process per call that was enqueued and awaited, microseconds, user and system.

    Attributes:
        call_us: of the whole call.
        prefilter_us: of the prefilter, which is in it: of reading its texts and of ranking them.
        longest_ms: CPU of the longest that anything kept the event loop: what others wait on an idle machine.
        fallbacks: calls that no worker answered.
    """

    call_us: float
    prefilter_us: float
    longest_ms: float
    fallbacks: int

    @property
    def aside_us(self) -> float:
        """All but the prefilter."""
        return self.call_us - self.prefilter_us

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "aside_us": self.aside_us}


async def measure(
    url: str, queue: str, *, calls: int, rounds: int, new: bool, progress: Callable[[], None]
) -> list[Round]:
    """Call a worker that is ready; one round more goes first and is not counted.

    Args:
        url: the Redis server.
        queue: its queue.
        calls: of each round.
        rounds: how many.
        new: whether every call comes with memories that no call before it had.
        progress: called after each round.
    """
    memories = _of_users(new)
    found = []
    async with Reranker.from_url(url, queue=queue, **PATIENT) as reranker:
        collect_less_often()
        for _ in range(rounds + 1):
            found.append(await _round(reranker, memories, calls))
            progress()
    return found[1:]


async def _round(reranker: Reranker, memories: Iterator[list[Memory]], calls: int) -> Round:
    # Made before the clock starts: recall's work is not ours.
    asked = [next(memories) for _ in range(calls)]
    left = iter(enumerate(asked))
    fallbacks = 0

    async def caller() -> None:
        nonlocal fallbacks
        for at, each in left:
            query = QUERY.format(about=f"{at} {id(each)}")
            answer = await reranker.rerank(query=query, memories=each, user=f"u{at}", deadline=DEADLINE_S)
            fallbacks += answer.source is not Source.MODEL

    with _timed() as spent:
        cpu = time.process_time()
        await asyncio.gather(*(caller() for _ in range(AT_ONCE)))
        used = time.process_time() - cpu
    return Round(used / calls * 1e6, spent.prefilter_s / calls * 1e6, spent.longest_s * 1e3, fallbacks)


@dataclass(slots=True)
class _Spent:
    prefilter_s: float = 0.0
    longest_s: float = 0.0


@contextlib.contextmanager
def _timed() -> Iterator[_Spent]:
    """Clocks around the prefilter and around whatever the event loop calls."""
    spent = _Spent()
    handles: Any = asyncio.Handle
    run, read = handles._run, Reader.read

    def timed_run(handle: asyncio.Handle) -> None:
        began = time.thread_time()
        run(handle)
        spent.longest_s = max(spent.longest_s, time.thread_time() - began)

    def timed_prefilter(*arguments: Any, **options: Any) -> Prefiltered:
        began = time.thread_time()
        result = prefilter(*arguments, **options)
        spent.prefilter_s += time.thread_time() - began
        return result

    @types.coroutine
    def timed_read(reader: Reader, memories: Sequence[Memory]) -> Generator[Any, None, bool]:
        reading = read(reader, memories)
        while True:
            began = time.thread_time()
            try:
                turn = reading.send(None)
            except StopIteration as ended:
                return bool(ended.value)
            finally:
                spent.prefilter_s += time.thread_time() - began
            yield turn

    handles._run = timed_run
    preparation.prefilter = timed_prefilter  # type: ignore[attr-defined]
    Reader.read = timed_read  # type: ignore[method-assign,assignment]
    try:
        yield spent
    finally:
        handles._run = run
        preparation.prefilter = prefilter  # type: ignore[attr-defined]
        Reader.read = read  # type: ignore[method-assign]


def _of_users(new: bool) -> Iterator[list[Memory]]:
    known = [memories_of(user) for user in range(USERS)]
    return map(memories_of, itertools.count(USERS)) if new else itertools.cycle(known)


def memories_of(user: int) -> list[Memory]:
    """`MEMORIES` of 460 characters that no other user has."""
    now = datetime.now(UTC)
    return [
        Memory(
            id=f"m{at}",
            text="".join(
                SENTENCE.format(day=at, plan=f"{user}-{at * 7 + line}") for line in range(SENTENCES)
            ).strip(),
            created_at=now,
            similarity=0.9 - at / 100,
        )
        for at in range(MEMORIES)
    ]
