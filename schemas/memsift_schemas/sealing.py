"""Sealed payloads: what Redis holds of a job or a ranking when `MEMSIFT_SEAL_KEYS` is set.

The Celery message stays readable to any Celery tool: id, task, expiry, counts and trace headers are clear.
Its argument, and the ranking that comes back, are sealed:

    job     {"v": 1, "reply_to": "<list>", "key": "<key id>", "sealed": "<base64>"}
    reply   {"v": 1, "id": "<job id>", "key": "<key id>", "sealed": "<base64>"}

`sealed` is nonce (12 random bytes), ciphertext and tag (16 bytes) of AES-256-GCM over the JSON that
`memsift_schemas.wire` would have sent. The associated data is `memsift/1`, the direction (`job` or `reply`),
the key id and the job id, with zero bytes between them, so that a sealed body opens in its own job and
direction alone. A session's deck is sealed likewise, in the direction `deck` and with its Redis key for the
id, and what the decision log holds of texts in the direction `decision` with the job id, by keys of the log's
own. `reply_to` is repeated inside, where it is compared. Refusals travel clear: they hold a job
id and a cause, and a worker without the key must still be able to say so.

With keys set, neither side takes a job or a ranking that is clear.

A key may seal 2^32 messages with random nonces (NIST SP 800-38D, 8.3): at a million jobs a day, two messages
each, that is five years; rotate once a year. What sealing costs is measured in docs/security.md.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Mapping
from typing import Any, Literal, Self

import orjson

from memsift_schemas import wire
from memsift_schemas.errors import InvalidInput, SettingsError

VARIABLE = "MEMSIFT_SEAL_KEYS"
KEY_BYTES = 32
NONCE_BYTES = 12

Direction = Literal["job", "reply", "deck", "decision"]

_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")


# Which variable holds the keys of each direction, where it is not `VARIABLE`.
_KEYS_OF = {"decision": "MEMSIFT_DECISION_LOG_TEXT_KEYS"}


class Unopened(InvalidInput):
    """A payload that cannot be opened, or had to be sealed and is not. The message names the remedy."""


class KeyRing:
    """Seals with its first key and opens with all.

    Args:
        keys: 32-byte keys by id, the sealing one first; at least one.

    Raises:
        SettingsError: the package `cryptography` is missing.
    """

    def __init__(self, keys: Mapping[str, bytes]) -> None:
        try:
            from cryptography.exceptions import InvalidTag  # noqa: PLC0415  # an optional extra
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415
        except ModuleNotFoundError:
            raise SettingsError(
                "sealing needs the package cryptography: pip install 'memsift[seal]'"
            ) from None
        self._ciphers = {key_id: AESGCM(key) for key_id, key in keys.items()}
        self._first = next(iter(keys))
        self._invalid: type[Exception] = InvalidTag

    @classmethod
    def of(cls, seal_keys: str | None) -> Self | None:
        """The ring that a setting describes; None when it is not set.

        Raises:
            SettingsError: the package is missing.
            ValueError: the setting is wrong; see `parse_keys`.
        """
        return cls(parse_keys(seal_keys)) if seal_keys else None

    def seal(self, clear: bytes, *, direction: Direction, job_id: str) -> dict[str, str]:
        """The fields `key` and `sealed` of a payload."""
        nonce = os.urandom(NONCE_BYTES)
        bound = _bound(direction, self._first, job_id)
        box = nonce + self._ciphers[self._first].encrypt(nonce, clear, bound)
        return {"key": self._first, "sealed": base64.b64encode(box).decode("ascii")}

    def open(self, fields: Mapping[str, Any], *, direction: Direction, job_id: str) -> bytes:
        """What was sealed for this job and direction.

        Raises:
            Unopened: another key, another job or direction, or changed on the way.
        """
        key_id, sealed = fields.get("key"), fields.get("sealed")
        cipher = self._ciphers.get(key_id) if isinstance(key_id, str) else None
        if not isinstance(key_id, str) or cipher is None:
            # An id that is none may be anything, so it is not repeated.
            shown = key_id if isinstance(key_id, str) and _KEY_ID.fullmatch(key_id) else "unknown"
            variable = _KEYS_OF.get(direction, VARIABLE)
            raise Unopened(f"the {direction} is sealed with the key {shown}, which {variable} does not hold")
        try:
            # Not `base64.b64decode(validate=True)`: it takes 20 us for 11 KB, this takes 4.
            box = binascii.a2b_base64(sealed or "", strict_mode=True)
            return cipher.decrypt(box[:NONCE_BYTES], box[NONCE_BYTES:], _bound(direction, key_id, job_id))
        except (self._invalid, binascii.Error, ValueError, TypeError):
            raise Unopened(
                f"the {direction} cannot be opened: changed on the way, meant for another job, or sealed "
                f"with another key of the id {key_id}"
            ) from None


def parse_keys(text: str) -> dict[str, bytes]:
    """Keys by id from `id:key,id:key`, each key 32 bytes in base64 (either alphabet) or hexadecimal.

    Raises:
        ValueError: it is no such list. The message holds no key.
    """
    keys: dict[str, bytes] = {}
    for at, part in enumerate(text.split(","), start=1):
        key_id, colon, encoded = part.strip().partition(":")
        if not colon or not _KEY_ID.fullmatch(key_id):
            raise ValueError(f"entry {at} must be id:key, the id of letters, digits, - and _, 32 at most")
        if key_id in keys:
            raise ValueError(f"entry {at} has the id of an earlier one")
        keys[key_id] = _key(encoded.strip(), at)
    return keys


def seal_job(ring: KeyRing | None, encoded: bytes, *, job_id: str, reply_to: str | None) -> bytes:
    """A job by `wire.encode_job` as it may travel; unchanged without a ring."""
    if ring is None:
        return encoded
    box = ring.seal(encoded, direction="job", job_id=job_id)
    return orjson.dumps({"v": wire.WIRE_VERSION, "reply_to": reply_to, **box})


def open_job(ring: KeyRing | None, data: Any, *, job_id: str) -> Any:
    """The decoded job out of a message's decoded `job` argument.

    Args:
        ring: the worker's keys.
        data: what `message.read` found; anything.
        job_id: the message's task id.

    Raises:
        Unopened: it is sealed and cannot be opened, or is clear although keys are set.
        UnknownVersion: it is sealed in a way that this release does not know.
    """
    sealed = isinstance(data, dict) and "sealed" in data
    if ring is None:
        if sealed:
            raise Unopened(f"the job is sealed: set {VARIABLE} to the keys of the producers")
        return data
    if not sealed:
        raise Unopened(f"the job is not sealed and {VARIABLE} is set here: set it in the producers too")
    wire.check_version(data)
    return orjson.loads(ring.open(data, direction="job", job_id=job_id))


def seal_result(ring: KeyRing | None, encoded: bytes, *, job_id: str) -> bytes:
    """A ranking by `wire.encode_reply` as it may travel; unchanged without a ring."""
    if ring is None:
        return encoded
    box = ring.seal(encoded, direction="reply", job_id=job_id)
    return orjson.dumps({"v": wire.WIRE_VERSION, "id": job_id, **box})


def open_reply(ring: KeyRing | None, raw: bytes) -> bytes:
    """What `wire.decode_reply` can read. A refusal passes clear.

    Args:
        ring: the producer's keys.
        raw: an item of the reply list.

    Raises:
        Unopened: it is sealed and cannot be opened, or is a clear ranking although keys are set.
        UnknownVersion: it is sealed in a way that this release does not know.
    """
    if ring is None and b'"sealed"' not in raw:
        return raw
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return raw
    if not isinstance(data, dict):
        return raw
    if "sealed" not in data:
        if ring is not None and "refusal" not in data:
            raise Unopened(f"the reply is not sealed and {VARIABLE} is set here: set it in the workers too")
        return raw
    if ring is None:
        raise Unopened(f"the reply is sealed: set {VARIABLE} to the keys of the workers")
    wire.check_version(data)
    return ring.open(data, direction="reply", job_id=str(data.get("id")))


def _key(encoded: str, at: int) -> bytes:
    try:
        if len(encoded) == KEY_BYTES * 2:
            return bytes.fromhex(encoded)
        padded = encoded.replace("-", "+").replace("_", "/") + "=" * (-len(encoded) % 4)
        key = base64.b64decode(padded, validate=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise ValueError(f"the key of entry {at} must be {KEY_BYTES} bytes in base64 or hexadecimal")
    return key


def _bound(direction: Direction, key_id: str, job_id: str) -> bytes:
    return b"\0".join((b"memsift/1", direction.encode(), key_id.encode(), job_id.encode()))
