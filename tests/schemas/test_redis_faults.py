"""What a fault of Redis is told as: its type, and the remedy where waiting will not help."""

import ssl

import pytest
from redis.exceptions import (
    AuthenticationError,
    ConnectionError,  # noqa: A004  # redis-py's name
    NoPermissionError,
    RedisClusterException,
    TimeoutError,  # noqa: A004  # redis-py's name
)

from memsift_schemas.redis_faults import REDIS_FAULTS, tell

SECRET = "xyzzy-secret"


def caused(error, cause):
    try:
        raise error from cause
    except type(error) as raised:
        return raised


def untrusted():
    error = ssl.SSLCertVerificationError(1, SECRET)
    error.verify_message = "unable to get local issuer certificate"
    return error


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        (AuthenticationError(SECRET), "name or password is wrong"),
        (NoPermissionError(SECRET), "ops/redis-acl.conf"),
        (caused(ConnectionError(SECRET), untrusted()), "ssl_ca_certs=/path/to/ca.crt"),
    ],
)
def test_what_waiting_does_not_help_is_told_with_its_remedy(fault, remedy):
    assert tell(fault).startswith(f"{type(fault).__name__}: ")
    assert remedy in tell(fault)
    assert SECRET not in tell(fault)


@pytest.mark.parametrize("fault", [ConnectionError(SECRET), TimeoutError(SECRET), OSError(SECRET)])
def test_what_passes_is_told_by_its_type(fault):
    assert tell(fault) == type(fault).__name__


def test_a_cluster_without_nodes_is_a_fault_like_any_other():
    assert isinstance(RedisClusterException(), REDIS_FAULTS)
