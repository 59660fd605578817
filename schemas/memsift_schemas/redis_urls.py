"""The four kinds of Redis, told by the URL's scheme, and what Celery makes of each.

    redis://  rediss://  unix://          one server
    sentinel://  sentinels://             Sentinels that name the present master:
                                          sentinel://user:password@host1:26379,host2:26379/mymaster/0
    redis+cluster://  rediss+cluster://   a Cluster; any of its nodes

With TLS: rediss, sentinels, rediss+cluster. Options of redis-py follow a `?`. User and password are the data
server's; those of the Sentinels are options too, `sentinel_username` and `sentinel_password`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

CLUSTER_SCHEMES = ("redis+cluster", "rediss+cluster")
SENTINEL_SCHEMES = ("sentinel", "sentinels")
SCHEMES = ("redis", "rediss", "unix", *SENTINEL_SCHEMES, *CLUSTER_SCHEMES)
SENTINEL_PORT = 26379

_HOST = re.compile(r"(\[[^\]]+\]|[^:\[\]]+)(?::(\d{1,5}))?")


@dataclass(frozen=True, slots=True)
class SentinelUrl:
    """A `sentinel://` URL in its parts.

    Attributes:
        sentinels: host and port of each.
        master: the name that they know the servers by.
        data_url: how the master is reached but for its address, as a `redis://` or `rediss://` URL.
        login: the Sentinels' own `username` and `password`.
    """

    sentinels: tuple[tuple[str, int], ...]
    master: str
    data_url: str = field(repr=False)
    login: dict[str, str] = field(repr=False)


def scheme(url: str) -> str:
    """What stands before `://`."""
    return url.partition("://")[0].lower()


def is_cluster(url: str) -> bool:
    """Whether jobs wait in a Redis Cluster."""
    return scheme(url) in CLUSTER_SCHEMES


def shown(url: str) -> str:
    """The URL without what may be secret: login and options."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def has_hash_tag(name: str) -> bool:
    """Whether a key named so shares its slot with all that begin with it (Redis Cluster specification)."""
    opened = name.find("{")
    return opened >= 0 and name.find("}", opened) > opened + 1


def check(url: str) -> None:
    """Make sure that a URL is of one of the four kinds.

    Raises:
        ValueError: it is not; says what it must be. Does not repeat the URL, which may hold a password.
    """
    if scheme(url) not in SCHEMES:
        raise ValueError(f"must be a URL with {', '.join(SCHEMES)} before ://")
    if scheme(url) in SENTINEL_SCHEMES:
        parse_sentinel(url)


def cluster_url(url: str) -> str:
    """The URL that redis-py's cluster client reads."""
    return url.replace("+cluster", "", 1)


def parse_sentinel(url: str) -> SentinelUrl:
    """Read a `sentinel://` or `sentinels://` URL.

    Raises:
        ValueError: it lacks hosts or the master's name. Does not repeat the URL, which may hold a password.
    """
    parts = urlsplit(url)
    login, at, hosts = parts.netloc.rpartition("@")
    found = [_HOST.fullmatch(host.strip()) for host in hosts.split(",")]
    path = [unquote(part) for part in parts.path.split("/") if part]
    if None in found or not 1 <= len(path) <= 2:  # noqa: PLR2004
        raise ValueError("must be sentinel://host1:26379,host2:26379/name-of-the-master/0")
    options = dict(parse_qsl(parts.query))
    names = ("username", "password")
    sentinel_login = {
        name: options.pop(f"sentinel_{name}") for name in names if f"sentinel_{name}" in options
    }
    secure = "s" if parts.scheme == "sentinels" else ""
    query = f"?{urlencode(options)}" if options else ""
    return SentinelUrl(
        sentinels=tuple((one[1].strip("[]"), int(one[2] or SENTINEL_PORT)) for one in found if one),
        master=path[0],
        data_url=f"redis{secure}://{login}{at}master/{path[1] if len(path) > 1 else 0}{query}",
        login=sentinel_login,
    )


def celery_broker(url: str) -> tuple[str, dict[str, Any]]:
    """Broker URL and transport options with which Celery reaches the same Redis.

    Raises:
        ValueError: it is a Cluster, which kombu 5.7 has no transport for, or a URL that cannot be read.
    """
    if is_cluster(url):
        raise ValueError("Celery cannot use a Redis Cluster")
    if scheme(url) not in SENTINEL_SCHEMES:
        return url, {}
    read = parse_sentinel(url)
    data = urlsplit(read.data_url)
    login = f"{data.netloc.rpartition('@')[0]}@" if "@" in data.netloc else ""
    addresses = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in read.sentinels]
    secure = {} if data.scheme == "redis" else {"ssl_cert_reqs": "required"}
    query = urlencode({**secure, **dict(parse_qsl(data.query))})
    first = f"sentinel://{login}{addresses[0]}{data.path}{'?' if query else ''}{query}"
    broker = ";".join([first, *(f"sentinel://{address}" for address in addresses[1:])])
    return broker, {"master_name": read.master, "sentinel_kwargs": sentinel_options(read)}


def sentinel_options(read: SentinelUrl) -> dict[str, Any]:
    """How the Sentinels themselves are reached: their login, and TLS as the data servers have it."""
    data = urlsplit(read.data_url)
    if data.scheme == "redis":
        return dict(read.login)
    tls = {name: value for name, value in parse_qsl(data.query) if name.startswith("ssl_")}
    return {**read.login, "ssl": True, **tls}
