"""Stub until the store is there."""


def ensure_model() -> None:
    """Later."""
