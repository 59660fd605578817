"""What the headers of a call say: who, for whom, until when, under which id."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from memsift_producer.documents.ranking import LEAST_S
from memsift_producer.gateway.keys import Key
from memsift_producer.gateway.problems import Malformed
from memsift_producer.gateway.running import Turns
from memsift_schemas.clock import Clock
from memsift_schemas.errors import describe
from memsift_schemas.job import ANONYMOUS, DEFAULT_SESSION
from memsift_schemas.memory import Id
from memsift_schemas.settings import GatewaySettings

USER = "x-memsift-user"
SESSION = "x-memsift-session"
DEADLINE = "x-memsift-deadline-ms"
REQUEST_ID = "x-request-id"

Headers = Mapping[bytes, bytes]

# What may stand in a log line and in a header as it is.
_REQUEST_ID = re.compile(rb"[\w.:-]{1,128}", re.ASCII)
_MILLISECONDS = re.compile(r"[0-9]{1,9}")
_ID: TypeAdapter[str] = TypeAdapter(Id)


@dataclass(frozen=True, slots=True)
class Call:
    """One call, before its body is read.

    Attributes:
        key: whose; None where the gateway has no keys.
        named_user: the user that the headers name.
        session: the conversation.
        deadline_ms: how long it may take.
        arrived: when it came, on the monotonic clock.
        settings: the gateway's.
        clock: tells the time.
        turns: the line in which calls wait for the processor.
    """

    key: Key | None
    named_user: str | None
    session: str
    deadline_ms: int
    arrived: float
    settings: GatewaySettings
    clock: Clock
    turns: Turns

    @property
    def max_bytes(self) -> int:
        """The most that its body may hold."""
        most = self.settings.gateway_max_bytes
        return min(most, self.key.max_bytes or most) if self.key else most

    @property
    def max_documents(self) -> int:
        """The most documents that it may hold."""
        most = self.settings.gateway_max_documents
        return min(most, self.key.max_documents or most) if self.key else most

    def user(self, named: str | None = None) -> str:
        """Whose memories it ranks.

        Args:
            named: by the body, which beats the header.

        Raises:
            OutOfScope: the key may not name this user.
        """
        named = named or self.named_user
        return self.key.user_of(named) if self.key else named or ANONYMOUS

    def time_left(self, deadline_ms: int | None = None) -> float:
        """Seconds until it must be answered, always above 0.

        Args:
            deadline_ms: by the body, which beats the header.
        """
        most = self.settings.gateway_max_deadline_ms
        allowed_s = min(self.deadline_ms if deadline_ms is None else deadline_ms, most) / 1e3
        return max(allowed_s - (self.clock.monotonic() - self.arrived), LEAST_S)


def request_id(headers: Headers) -> str:
    """The id that the client gave, if it can be shown, else a new one."""
    given = headers.get(REQUEST_ID.encode(), b"")
    return given.decode() if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def read(
    headers: Headers,
    key: Key | None,
    *,
    settings: GatewaySettings,
    clock: Clock,
    turns: Turns,
    arrived: float,
) -> Call:
    """Read the headers of a call.

    Raises:
        Malformed: one of them cannot be read; says which.
    """
    deadline = _text(headers, DEADLINE)
    if deadline is not None and (not _MILLISECONDS.fullmatch(deadline) or not int(deadline)):
        raise Malformed(f"{DEADLINE}: must be a whole number of milliseconds, above 0")
    return Call(
        key=key,
        named_user=_id(headers, USER),
        session=_id(headers, SESSION) or DEFAULT_SESSION,
        deadline_ms=settings.deadline_ms if deadline is None else int(deadline),
        arrived=arrived,
        settings=settings,
        clock=clock,
        turns=turns,
    )


def _id(headers: Headers, name: str) -> str | None:
    text = _text(headers, name)
    try:
        return _ID.validate_python(text) if text else None
    except ValidationError as error:
        raise Malformed(f"{name}: {describe(error).removeprefix('input: ')}") from None


def _text(headers: Headers, name: str) -> str | None:
    raw = headers.get(name.encode())
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        raise Malformed(f"{name}: must be UTF-8") from None
