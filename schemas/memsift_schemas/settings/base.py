"""What producer and worker must agree on, and how settings are read."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from memsift_schemas import redis_urls
from memsift_schemas.errors import SettingsError
from memsift_schemas.sealing import KeyRing

PREFIX = "MEMSIFT_"
S = TypeVar("S", bound="Settings")


class Settings(BaseSettings):
    """What producer and worker must agree on."""

    # Built when they are first read: a frontend's import does not wait for a worker's settings.
    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", frozen=True, hide_input_in_errors=True, defer_build=True
    )

    redis_url: str = Field(
        "redis://127.0.0.1:6379/0",
        repr=False,
        description="The Redis or Valkey server (7.0 or newer): `redis://`, `unix://`, "
        "`sentinel://host1,host2/name-of-the-master/0` or `redis+cluster://`; with TLS `rediss://`, "
        "`sentinels://`, `rediss+cluster://`.",
    )
    queue: str = Field(
        "memsift.rerank",
        min_length=1,
        validate_default=True,
        description="The Redis list that jobs wait in; in braces in a Cluster: `{memsift.rerank}`.",
    )
    calibration: str = Field(
        "",
        description="JSON file with a calibration, for `min_relevance`; read once, at start.",
    )

    seal_keys: str | None = Field(
        None,
        repr=False,
        description="Seal jobs and rankings on Redis: `id:key,id:key`, each key 32 bytes in base64 or "
        "hexadecimal. The first seals, all open.",
    )

    metrics_host: str = Field(
        "127.0.0.1",
        min_length=1,
        description="Address on which `/metrics` is served, where a port is set; this machine alone.",
    )

    log_format: Literal["auto", "human", "json"] = Field(
        "auto",
        description="Log lines of worker, gateway and `memsift` commands: `auto` is for people on a terminal "
        "and JSON elsewhere.",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] | None = Field(
        None,
        description="What they log. Unset: `INFO` for worker and gateway, `WARNING` for other commands.",
    )

    @field_validator("log_format", mode="before")
    @classmethod
    def _lower(cls, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value

    @field_validator("log_level", mode="before")
    @classmethod
    def _upper(cls, value: Any) -> Any:
        return value.upper() if isinstance(value, str) else value

    @field_validator("seal_keys")
    @classmethod
    def _keys(cls, value: str | None) -> str | None:
        KeyRing.of(value)
        return value

    @field_validator("redis_url")
    @classmethod
    def _redis_scheme(cls, value: str) -> str:
        redis_urls.check(value)
        return value

    @field_validator("queue")
    @classmethod
    def _one_slot(cls, value: str, info: ValidationInfo) -> str:
        if redis_urls.is_cluster(info.data.get("redis_url", "")) and not redis_urls.has_hash_tag(value):
            raise ValueError(
                "in a Redis Cluster all keys of a queue must be in one slot: put its name in braces, "
                "{memsift.rerank}"
            )
        return value


def load(cls: type[S], **explicit: Any) -> S:
    """Settings of one role.

    Args:
        cls: `ProducerSettings` or `WorkerSettings`.
        **explicit: beat the environment; None means "not given".

    Raises:
        SettingsError: names every wrong variable.
    """
    try:
        return cls(**{name: value for name, value in explicit.items() if value is not None})
    except ValidationError as error:
        faults = [
            f"{PREFIX}{'_'.join(map(str, fault['loc'])).upper() or 'SETTINGS'}: "
            f"{str(fault['msg']).removeprefix('Value error, ')}"
            for fault in error.errors(include_url=False)
        ]
        raise SettingsError("; ".join(faults)) from None
