"""One path of the gateway: key, headers, body, ranking, answer; and what becomes of each that fails."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import orjson
from starlette.types import Receive, Scope, Send

from memsift_producer.gateway import body, call
from memsift_producer.gateway.access import Gateway
from memsift_producer.gateway.body import Gone
from memsift_producer.gateway.call import Headers
from memsift_producer.gateway.dialects.base import Dialect
from memsift_producer.gateway.problems import Problem
from memsift_schemas.errors import type_and_place
from memsift_schemas.result import RerankResult

log = logging.getLogger("memsift.gateway")

# nginx's number for a client that closed its connection; it stands in the log alone.
CLIENT_GONE = 499


@dataclass(slots=True)
class _Visit:
    """What the log tells of a call: no path, no query string, no text."""

    request_id: str
    key: str = "-"
    status: int = 0
    size: int = 0
    source: str = "-"
    cause: str = "-"
    job: str | None = None

    def fields(self, dialect: str, took_ms: float) -> dict[str, Any]:
        """Of its line where that is JSON; `job` is what the worker's log calls it."""
        return {
            "request": self.request_id,
            "job": self.job,
            "dialect": dialect,
            "status": self.status,
            "ms": round(took_ms, 1),
            "key": self.key,
            "bytes": self.size,
            "source": self.source,
            "cause": self.cause,
        }


class Door:
    """An ASGI application that answers POST in one dialect."""

    def __init__(self, gateway: Gateway, dialect: Dialect) -> None:
        self._gateway = gateway
        self._dialect = dialect

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call, always with JSON."""
        started = self._gateway.clock.monotonic()
        headers: Headers = dict(scope["headers"])
        visit = _Visit(call.request_id(headers))
        try:
            content, more = await self._answer(scope, headers, receive, visit, started)
            visit.status = 200
            await _send(send, visit, content, more)
        except Gone:
            visit.status = CLIENT_GONE
        except Problem as problem:
            await self._refuse(send, visit, problem)
        except Exception as error:  # noqa: BLE001  # a fault of ours; its message may hold text
            told = type_and_place(error)
            log.error("%s failed: %s", visit.request_id, told, extra={"request": visit.request_id})
            await self._refuse(send, visit, Problem("the gateway has a fault; its log tells which"))
        finally:
            self._gateway.metrics.requested(self._dialect.name, visit.status)
            took_ms = (self._gateway.clock.monotonic() - started) * 1e3
            log.info(
                "%s %s %d %.1f ms key=%s bytes=%d source=%s cause=%s",
                visit.request_id,
                self._dialect.name,
                visit.status,
                took_ms,
                visit.key,
                visit.size,
                visit.source,
                visit.cause,
                extra=visit.fields(self._dialect.name, took_ms),
            )

    async def _answer(
        self, scope: Scope, headers: Headers, receive: Receive, visit: _Visit, started: float
    ) -> tuple[bytes, dict[str, str]]:
        __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
        gateway = self._gateway
        key = gateway.admit(scope, headers)
        visit.key = key.name if key else "-"
        about = call.read(
            headers,
            key,
            settings=gateway.settings,
            clock=gateway.clock,
            turns=gateway.turns,
            arrived=started,
        )
        raw = await body.read(receive, headers, about.max_bytes)
        visit.size = len(raw)
        answer = await gateway.turns.run(receive, self._dialect.answer(raw, about, gateway.reranker))
        if answer.result is None:
            return answer.body, {}
        visit.source, visit.cause = answer.result.source, answer.result.cause or "-"
        visit.job = answer.result.job_id
        return answer.body, _origin(answer.result)

    async def _refuse(self, send: Send, visit: _Visit, problem: Problem) -> None:
        visit.status = problem.status
        content = orjson.dumps(self._dialect.problem(problem, visit.request_id))
        await _send(send, visit, content, problem.headers)


def _origin(result: RerankResult) -> dict[str, str]:
    """Where the ranking comes from, for who looks at headers."""
    origin = {"x-memsift-source": str(result.source)}
    if result.cause is not None:
        origin["x-memsift-cause"] = str(result.cause)
    return origin


async def _send(send: Send, visit: _Visit, content: bytes, more: dict[str, str]) -> None:
    headers = {
        "content-type": "application/json",
        "content-length": str(len(content)),
        call.REQUEST_ID: visit.request_id,
        **more,
    }
    start: dict[str, Any] = {
        "type": "http.response.start",
        "status": visit.status,
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await send(start)
    await send({"type": "http.response.body", "body": content})
