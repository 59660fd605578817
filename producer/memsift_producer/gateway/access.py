"""What all paths of a gateway share, and who may come in."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from functools import lru_cache

from starlette.types import Scope

from memsift_producer.gateway.call import Headers
from memsift_producer.gateway.keys import Key, Keys
from memsift_producer.gateway.problems import NoKey
from memsift_producer.gateway.running import Turns
from memsift_producer.meter import Meter
from memsift_producer.reranker import Reranker
from memsift_schemas.clock import Clock
from memsift_schemas.result import Cause
from memsift_schemas.settings import GatewaySettings

REMEDY = (
    "without API keys the gateway serves this machine alone: put the entry that `memsift gateway key NAME` "
    "prints into a file, and its path into MEMSIFT_GATEWAY_KEYS"
)


@dataclass(frozen=True, slots=True)
class Gateway:
    """What all paths share."""

    settings: GatewaySettings
    keys: Keys
    reranker: Reranker
    clock: Clock
    turns: Turns
    metrics: Meter

    def admit(self, scope: Scope, headers: Headers) -> Key | None:
        """Let a call in.

        Returns:
            Its key; None where the gateway has none and serves this machine alone.

        Raises:
            NoKey: it shows no key that is known, or comes to another address than this machine's own.
            TooMany: its key's rate is used up.
        """
        if self.keys:
            return self.keys.admit(headers.get(b"authorization"))
        host = (scope.get("server") or ("", 0))[0]
        if not is_loopback(host):
            raise NoKey(REMEDY)
        return None


def why_no_model(reranker: Reranker) -> Cause | None:
    """Why calls fall back at once just now; None where they are sent to the workers."""
    breaker = reranker.breaker
    return Cause.REDIS_UNAVAILABLE if breaker.away else Cause.BREAKER_OPEN if breaker.is_open else None


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone; a path is a Unix socket's."""
    if host in ("localhost", "") or host.startswith("/"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
