"""Which lines are written, where and in which form."""

from __future__ import annotations

import logging
import os
import sys
from typing import Literal

from memsift_schemas.logs.formats import OURS, Human, JsonLines
from memsift_schemas.logs.handler import File, Stderr

Form = Literal["auto", "human", "json"]
Level = Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"]
FORM, LEVEL = "MEMSIFT_LOG_FORMAT", "MEMSIFT_LOG_LEVEL"

# Servers that we run, whose INFO tells of their life; at DEBUG they tell of requests.
_SERVERS = ("celery", "kombu", "uvicorn")


def start(level: str, form: Form = "auto", *, path: str | None = None) -> None:
    """Take over the logging of this process.

    All other libraries are heard from WARNING on alone, whatever the level: HTTP clients and openai's log
    requests, with their text, at DEBUG.

    Args:
        level: of our own loggers.
        form: `auto` is for people on a terminal and JSON elsewhere.
        path: a file to write to; standard error otherwise.
    """
    number = logging.getLevelNamesMapping()[level]
    root = logging.getLogger()
    for handler in list(root.handlers):
        root.removeHandler(handler)
    root.addHandler(_handler(form, path))
    root.setLevel(max(number, logging.WARNING))
    for name in _SERVERS:
        logging.getLogger(name).setLevel(max(number, logging.INFO))
    logging.getLogger(OURS).handlers.clear()
    logging.getLogger(OURS).setLevel(number)
    logging.captureWarnings(capture=True)
    # A record that cannot be written must not be shown with its arguments.
    logging.raiseExceptions = False


def start_for_command() -> None:
    """Logging of a command that a person runs: our own from WARNING on, or as the environment says."""
    level, form = os.environ.get(LEVEL, "").upper(), os.environ.get(FORM, "").lower()
    ours = logging.getLogger(OURS)
    ours.addHandler(_handler("json" if form == "json" else "human" if form == "human" else "auto", None))
    # A wrong level is the business of who reads all settings.
    ours.setLevel(logging.getLevelNamesMapping().get(level, logging.WARNING))


def is_json(form: Form) -> bool:
    """Whether lines on standard error are JSON."""
    return form == "json" or (form == "auto" and not sys.stderr.isatty())


def _handler(form: Form, path: str | None) -> logging.Handler:
    handler: logging.Handler
    if path is not None:
        handler = File(path, encoding="utf-8")
        handler.setFormatter(Human(colour=False) if form == "human" else JsonLines())
        return handler
    handler = Stderr()
    colour = sys.stderr.isatty() and "NO_COLOR" not in os.environ
    handler.setFormatter(JsonLines() if is_json(form) else Human(colour=colour))
    return handler
