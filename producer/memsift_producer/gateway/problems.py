"""Why a call is refused, as HTTP tells it. No message holds a word of the caller's."""

from __future__ import annotations

from typing import ClassVar


class Problem(Exception):
    """A call that is not answered with a ranking.

    Attributes:
        status: the HTTP status.
        code: a word for programs.
        message: what is wrong and what to do, for people.
        headers: further response headers.
    """

    status: ClassVar[int] = 500
    code: ClassVar[str] = "internal"

    def __init__(self, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.headers = headers or {}


class Malformed(Problem):
    """A header cannot be read, or the body is no JSON."""

    status = 400
    code = "malformed"


class NoKey(Problem):
    """No key came, or none that is known."""

    status = 401
    code = "unauthorized"

    def __init__(self, message: str) -> None:
        super().__init__(message, {"www-authenticate": "Bearer"})


class OutOfScope(Problem):
    """The key is known and does not reach this user."""

    status = 403
    code = "forbidden"


class TooSlow(Problem):
    """The body did not arrive in time."""

    status = 408
    code = "timeout"


class TooLarge(Problem):
    """More bytes or documents than this key or gateway takes."""

    status = 413
    code = "too_large"


class NotJson(Problem):
    """The body is not declared as JSON."""

    status = 415
    code = "unsupported_media_type"


class Invalid(Problem):
    """The body is JSON, and not what this path reads."""

    status = 422
    code = "invalid"


class TooMany(Problem):
    """The key's rate limit is used up.

    Args:
        after_s: seconds until the next call is let through.
    """

    status = 429
    code = "rate_limited"

    def __init__(self, after_s: int) -> None:
        super().__init__(
            f"the rate limit of this key is used up: try again in {after_s} s", {"retry-after": str(after_s)}
        )
