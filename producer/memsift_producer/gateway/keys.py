"""API keys: which there are, what each may do, and how a new one is made.

The file holds SHA-256 of each key. A fast hash is right here: a key is 256 random bits, so that nobody can
try them all, however fast; slow hashes (scrypt, Argon2) protect what people make up. Whoever reads the file
learns no key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from memsift_producer.gateway.limits import Rate
from memsift_producer.gateway.problems import NoKey, OutOfScope
from memsift_schemas.clock import Clock
from memsift_schemas.errors import SettingsError, describe
from memsift_schemas.memory import Id

_VARIABLE = "MEMSIFT_GATEWAY_KEYS"
_REMEDY = "`memsift gateway key NAME` prints an entry"
# So that a key in a log or a repository is found by scanners.
PREFIX = "msk_"
_KEY_BYTES = 32
_ANY = "*"


class Key(BaseModel):
    """One entry of the file.

    Attributes:
        name: shown in logs; also the user of its calls, unless `user` says otherwise.
        sha256: of the key, in hexadecimal.
        user: the only user that it may name; `tenant-a/*`: any user whose name begins so; `*`: any.
        requests_per_minute: None for no limit.
        max_documents: in one call, below the gateway's own limit; None for that.
        max_bytes: of one body, below the gateway's own limit; None for that.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    name: Annotated[str, Field(pattern=r"^[\w.-]{1,64}$")]
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", repr=False)]
    user: Id | None = None
    requests_per_minute: int | None = Field(None, ge=1)
    max_documents: int | None = Field(None, ge=1)
    max_bytes: int | None = Field(None, ge=1)

    @field_validator("user")
    @classmethod
    def _scope(cls, value: str | None) -> str | None:
        if value is not None and _ANY in value.removesuffix("/*") and value != _ANY:
            raise ValueError('must be one user, "prefix/*", or "*"')
        return value

    def user_of(self, named: str | None) -> str:
        """Whose call this is.

        Args:
            named: the user that the call names; None for none.

        Raises:
            OutOfScope: the key may not name this one.
        """
        scope = self.name if self.user is None else self.user
        if not scope.endswith(_ANY):
            if named not in (None, scope):
                raise OutOfScope(
                    "this key may not speak for that user: leave the user out, or use another key"
                )
            return scope
        prefix = scope.removesuffix(_ANY)
        if named is None:
            return prefix + self.name
        if not named.startswith(prefix) or named == prefix:
            raise OutOfScope(
                "this key may not speak for that user: the name must begin as the key's scope does"
            )
        return named


class _File(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    keys: tuple[Key, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        for field in ("name", "sha256"):
            if len({getattr(key, field) for key in self.keys}) != len(self.keys):
                raise ValueError(f"no two keys may have the same {field}")
        return self


class Keys:
    """The keys that a gateway knows, each with its rate."""

    def __init__(self, keys: Sequence[Key], clock: Clock) -> None:
        self._known = [
            (
                key.sha256.encode(),
                key,
                Rate(key.requests_per_minute, clock) if key.requests_per_minute else None,
            )
            for key in keys
        ]

    def __bool__(self) -> bool:
        return bool(self._known)

    def admit(self, authorization: bytes | None) -> Key:
        """The key that a call shows, with one call counted.

        Args:
            authorization: the header.

        Raises:
            NoKey: it shows none that is known.
            TooMany: that key's rate is used up.
        """
        scheme, _, shown = (authorization or b"").partition(b" ")
        if scheme.lower() != b"bearer" or not shown.strip():
            raise NoKey("an API key is needed: send `Authorization: Bearer KEY`")
        digest = hashlib.sha256(shown.strip()).hexdigest().encode()
        found: tuple[Key, Rate | None] | None = None
        for known, key, rate in self._known:  # all of them, so that the time does not tell which
            if hmac.compare_digest(known, digest):
                found = (key, rate)
        if found is None:
            raise NoKey("this API key is not known")
        key, rate = found
        if rate is not None:
            rate.take()
        return key


def load(path: str) -> tuple[Key, ...]:
    """Read a key file.

    Args:
        path: the file; "" for none.

    Raises:
        SettingsError: it cannot be read, or is no key file.
    """
    if not path:
        return ()
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        return _File.model_validate(data).keys
    except OSError as error:
        raise SettingsError(f"{_VARIABLE}: cannot read the file ({error.strerror}): {_REMEDY}") from None
    except ValidationError as error:
        raise SettingsError(f"{_VARIABLE}: is no key file ({describe(error)}): {_REMEDY}") from None
    except ValueError:  # no TOML, no UTF-8, or a NUL in the path; their messages quote
        raise SettingsError(f"{_VARIABLE}: is no TOML file: {_REMEDY}") from None


def new(name: str) -> tuple[str, str]:
    """Make a key.

    Args:
        name: as in `Key`.

    Returns:
        The key, which is kept nowhere, and its entry for the file.

    Raises:
        SettingsError: the name does not do.
    """
    key = PREFIX + secrets.token_urlsafe(_KEY_BYTES)
    digest = hashlib.sha256(key.encode()).hexdigest()
    try:
        Key(name=name, sha256=digest)
    except ValidationError:
        raise SettingsError(
            f"{_VARIABLE}: a key's name is 1 to 64 letters, digits, '.', '_' or '-'"
        ) from None
    return key, f'[[keys]]\nname = "{name}"\nsha256 = "{digest}"\n'
