"""Celery's remote control over a worker whose jobs Celery does not consume."""

from memsift_workers.control.commands import install

__all__ = ["install"]
