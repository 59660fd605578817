"""Sentry for a worker: what went wrong and where, never what it was about."""

from __future__ import annotations

from typing import Any

import sentry_sdk

from memsift_schemas.settings import WorkerSettings

# Exceptions of these modules are written so that their messages hold no memory text.
_OURS = ("memsift_schemas", "memsift_workers", "memsift_producer")


def start(settings: WorkerSettings) -> None:
    """Send worker errors to Sentry, if a DSN is set. Values of local variables stay here."""
    if settings.sentry_dsn:
        sentry_sdk.init(
            dsn=settings.sentry_dsn,
            include_local_variables=False,
            max_request_body_size="never",
            before_send=scrub,
        )


def scrub(event: Any, hint: dict[str, Any]) -> Any:  # noqa: ARG001  # Sentry passes it
    """Take the message out of every exception that is not ours: a library may have put text into it."""
    for error in (event.get("exception") or {}).get("values") or []:
        if not str(error.get("module") or "").startswith(_OURS):
            error["value"] = "(message withheld)"
    event.pop("extra", None)
    event.pop("breadcrumbs", None)
    return event
