"""What a fault of Redis means to whoever must end it: most pass by themselves, some need another setting."""

from __future__ import annotations

import ssl

from redis.exceptions import AuthenticationError, NoPermissionError, RedisClusterException, RedisError

# What redis-py raises when the server is away, full, or answers nonsense.
REDIS_FAULTS = (RedisError, RedisClusterException, OSError)

_CERTIFICATE = (
    "the server's certificate is not trusted ({}): name the authority that signed it in the URL, "
    "MEMSIFT_REDIS_URL=rediss://...?ssl_ca_certs=/path/to/ca.crt"
)
_PASSWORD = "name or password is wrong, or one is missing in MEMSIFT_REDIS_URL"
_PERMISSION = "the user of MEMSIFT_REDIS_URL may not do this: compare its rules with ops/redis-acl.conf"


def tell(fault: BaseException) -> str:
    """Its type, and the remedy where waiting will not help. Holds no URL, password or payload."""
    name = type(fault).__name__
    remedy = _remedy(fault)
    return f"{name}: {remedy}" if remedy else name


def _remedy(fault: BaseException) -> str:
    if isinstance(fault, NoPermissionError):
        return _PERMISSION
    if isinstance(fault, AuthenticationError):
        return _PASSWORD
    cause: BaseException | None = fault
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return _CERTIFICATE.format(cause.verify_message)
        cause = cause.__cause__ or cause.__context__
    return ""
