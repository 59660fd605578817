"""Logs and Sentry of a worker: what went wrong and where, never what it was about."""

from __future__ import annotations

import logging
from typing import Any

import sentry_sdk
from celery import signals

from memsift_schemas import logs
from memsift_schemas.settings import WorkerSettings

# Exceptions of these modules are written so that their messages hold no memory text.
_OURS = ("memsift_schemas", "memsift_workers", "memsift_producer")
# So are log lines of these loggers.
_OUR_LOGGERS = "memsift"
WITHHELD = "(message withheld)"


def start(settings: WorkerSettings) -> None:
    """Send worker errors to Sentry, if a DSN is set. Values of local variables stay here.

    Integrations that enable themselves are off: those of Redis, openai and Celery record arguments. Traces
    follow the decision of the frontend that began them; see `tracing`.
    """
    if settings.sentry_dsn:
        sentry_sdk.init(
            dsn=settings.sentry_dsn,
            include_local_variables=False,
            max_request_body_size="never",
            auto_enabling_integrations=False,
            max_breadcrumbs=0,
            traces_sample_rate=0.0,
            before_send=scrub,
            before_send_transaction=scrub,
        )


def take_over_logs(settings: WorkerSettings) -> None:
    """Have Celery leave a worker's logging to us."""

    def start_logs(loglevel: int, logfile: str | None, **_: Any) -> None:
        # WARNING is what Celery passes when nobody has chosen one.
        level = logging.getLevelName(loglevel)
        if level == "WARNING" and settings.log_level is not None:
            level = settings.log_level
        logs.start(level, settings.log_format, path=logfile)

    def begin(options: dict[str, Any], **_: Any) -> None:
        """Before Celery warns of anything, such as of a worker that is root."""
        start_logs(options.get("loglevel") or logging.WARNING, options.get("logfile"))

    signals.celeryd_init.connect(begin, weak=False)
    signals.setup_logging.connect(start_logs, weak=False)


def scrub(event: Any, hint: dict[str, Any]) -> Any:  # noqa: ARG001  # Sentry passes it
    """Take out what may hold text: messages that are not ours, local variables, requests, extra data."""
    for error in (event.get("exception") or {}).get("values") or []:
        if not str(error.get("module") or "").startswith(_OURS):
            error["value"] = WITHHELD
    for frame in _frames(event):
        frame.pop("vars", None)
    if not str(event.get("logger") or _OUR_LOGGERS).startswith(_OUR_LOGGERS):
        # Not even the template, which others may have formatted already. The logger's name tells which.
        event["logentry"] = {"message": f"{event['logger']}: {WITHHELD}"}
    for name in ("extra", "breadcrumbs", "request"):
        event.pop(name, None)
    return event


def _frames(event: Any) -> list[Any]:
    holders = [*_values(event, "exception"), *_values(event, "threads")]
    return [frame for holder in holders for frame in (holder.get("stacktrace") or {}).get("frames") or []]


def _values(event: Any, name: str) -> list[Any]:
    held = event.get(name) or {}
    return list(held.get("values") or [] if isinstance(held, dict) else held)
