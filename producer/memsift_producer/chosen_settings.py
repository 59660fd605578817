"""The settings of a frontend, read when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memsift_schemas.settings import ProducerSettings


def chosen(**explicit: Any) -> ProducerSettings:
    """Settings from what a caller names and, for the rest, from the environment.

    Args:
        **explicit: fields of `ProducerSettings`; None means "not given".

    Raises:
        SettingsError: names every wrong variable.
    """
    # pydantic-settings and three roles' settings would be a tenth of the import.
    from memsift_schemas.settings import ProducerSettings, load  # noqa: PLC0415

    return load(ProducerSettings, **explicit)
