"""What the HTTP gateway costs beside a bare `Reranker`, and what becomes of many calls at once."""

from __future__ import annotations

import asyncio
import itertools
import resource
import statistics
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import orjson
import psutil

from memsift_ops.drain_bench import SENTENCE, SENTENCES, cpu_s
from memsift_producer import Reranker
from memsift_schemas.collector import collect_less_often

DOCUMENTS = 50
QUERY = "What did they say about plan number {at}?"
# As many users as a process's caches of texts hold: what costs is the gateway, not new texts.
USERS = 40
# So many calls are under way at once where the cost of one is measured.
AT_ONCE = 16
# Nobody waits this long; a call that is not answered by then is lost.
ANSWER_WITHIN_S = 60.0
_DEADLINE_MS = 20_000
# For each connection one on either side, and the rest of a process.
_SPARE_FILES = 200


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU time of one round, microseconds per call of 50 documents, user and system.

    Attributes:
        gateway_us: of the gateway's process.
        reranker_us: of a process that calls `Reranker.rerank` with the same documents.
    """

    gateway_us: float
    reranker_us: float

    @property
    def overhead_us(self) -> float:
        """What HTTP adds."""
        return self.gateway_us - self.reranker_us


@dataclass(frozen=True, slots=True)
class Burst:
    """Calls that were sent at once, each on a connection of its own.

    Attributes:
        calls: how many.
        answered: with 200 and every document.
        in_time: of those, how many by their deadline, as their client saw it.
        deadline_ms: what each call asked for.
        p50_ms: median time from sending to the whole answer.
        p99_ms: the same for the 99th percentile.
        max_ms: for the slowest.
        sources: how many by source, and by cause where the prefilter answered.
        gateway_cpu_us: of the gateway's process, per call.
    """

    calls: int
    answered: int
    in_time: int
    deadline_ms: int
    p50_ms: float
    p99_ms: float
    max_ms: float
    sources: dict[str, int]
    gateway_cpu_us: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


async def cost(
    port: int, pid: int, redis_url: str, queue: str, *, calls: int, rounds: int, progress: Callable[[], None]
) -> list[Cost]:
    """Measure in turns, round by round; one more goes first and is not counted.

    Args:
        port: the gateway's, on this machine.
        pid: its process.
        redis_url: the same server.
        queue: the same queue.
        calls: per round and side.
        rounds: how many count.
        progress: called after each.
    """
    gateway = psutil.Process(pid)
    collect_less_often()  # as the gateway's own process does
    found = []
    async with Reranker.from_url(redis_url, queue=queue, deadline_ms=_DEADLINE_MS) as reranker:
        for _ in range(rounds + 1):
            before = cpu_s(gateway)
            await _in_turns(calls, lambda at: _ask(port, _request(at, _DEADLINE_MS)))
            over_http = cpu_s(gateway) - before
            before = time.process_time()
            await _in_turns(calls, lambda at: _rerank(reranker, at))
            bare = time.process_time() - before
            found.append(Cost(over_http / calls * 1e6, bare / calls * 1e6))
            progress()
    return found[1:]


async def burst(port: int, pid: int, *, calls: int, deadline_ms: int) -> Burst:
    """Send so many calls at once and wait for all.

    Args:
        port: the gateway's, on this machine.
        pid: its process.
        calls: how many.
        deadline_ms: of each.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(calls + _SPARE_FILES, hard), hard))
    gateway = psutil.Process(pid)
    requests = [_request(at, deadline_ms) for at in range(calls)]
    before = cpu_s(gateway)
    answers = await asyncio.gather(*(_ask(port, request) for request in requests))
    used = cpu_s(gateway) - before
    took = sorted(answer.ms for answer in answers)
    good = [answer for answer in answers if answer.complete]
    return Burst(
        calls=calls,
        answered=len(good),
        in_time=sum(answer.ms <= deadline_ms for answer in good),
        deadline_ms=deadline_ms,
        p50_ms=statistics.median(took),
        p99_ms=took[int(0.99 * (len(took) - 1))],
        max_ms=took[-1],
        sources=dict(Counter(answer.source for answer in answers)),
        gateway_cpu_us=used / calls * 1e6,
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    ms: float
    complete: bool
    source: str


async def _ask(port: int, request: bytes) -> _Answer:
    """One call on a connection of its own; a client library would take more CPU than the gateway."""
    started = time.monotonic()
    try:
        async with asyncio.timeout(ANSWER_WITHIN_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request)
            raw = await reader.read(-1)
            writer.close()
    except (OSError, TimeoutError) as fault:
        return _Answer((time.monotonic() - started) * 1e3, complete=False, source=type(fault).__name__)
    ms = (time.monotonic() - started) * 1e3
    head, _, body = raw.partition(b"\r\n\r\n")
    status, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    source = headers.get("x-memsift-cause") or headers.get("x-memsift-source") or status
    whole = status.split()[1:2] == ["200"] and len(orjson.loads(body)["results"]) == DOCUMENTS
    return _Answer(ms, complete=whole, source=source)


async def _rerank(reranker: Reranker, at: int) -> None:
    memories = [{"id": str(place), "text": text, "created_at": None} for place, text in enumerate(_texts(at))]
    await reranker.rerank(query=QUERY.format(at=at), memories=memories, user=f"u{at % USERS}")


async def _in_turns(calls: int, call: Callable[[int], Awaitable[Any]]) -> None:
    """So many calls, `AT_ONCE` at a time."""
    numbers = itertools.islice(itertools.count(), calls)

    async def one_after_another() -> None:
        for at in numbers:
            await call(at)

    await asyncio.gather(*(one_after_another() for _ in range(AT_ONCE)))


def _request(at: int, deadline_ms: int) -> bytes:
    body = orjson.dumps({"query": QUERY.format(at=at), "documents": _texts(at)})
    head = (
        "POST /v2/rerank HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
        f"content-type: application/json\r\nx-memsift-user: u{at % USERS}\r\n"
        f"x-memsift-deadline-ms: {deadline_ms}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _texts(at: int) -> Sequence[str]:
    return _texts_of(at % USERS)


@lru_cache(USERS)
def _texts_of(user: int) -> Sequence[str]:
    """Fifty documents of some 480 characters."""
    return [
        "".join(SENTENCE.format(day=place, plan=user * 1000 + place * 7 + line) for line in range(SENTENCES))
        for place in range(DOCUMENTS)
    ]
