"""What producer and worker must agree on, and how settings are read."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from memsift_schemas.errors import SettingsError

PREFIX = "MEMSIFT_"
S = TypeVar("S", bound="Settings")


class Settings(BaseSettings):
    """What producer and worker must agree on."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", frozen=True, hide_input_in_errors=True
    )

    redis_url: str = Field(
        "redis://127.0.0.1:6379/0", description="The Redis or Valkey server (7.0 or newer)."
    )
    queue: str = Field("memsift.rerank", min_length=1, description="The Redis list that jobs wait in.")

    @field_validator("redis_url")
    @classmethod
    def _redis_scheme(cls, value: str) -> str:
        if not value.startswith(("redis://", "rediss://", "unix://")):
            raise ValueError("must start with redis://, rediss:// or unix://")
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
