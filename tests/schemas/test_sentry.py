"""Sentry's SDK is used where the process has set it up, and not even imported elsewhere."""

import sys

import sentry_sdk

from memsift_schemas import sentry


def test_nothing_is_told_where_nobody_has_imported_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "sentry_sdk")
    assert sentry.sdk() is None
    assert "sentry_sdk" not in sys.modules


def test_nothing_is_told_where_nobody_has_set_it_up(monkeypatch):
    monkeypatch.setattr(sentry_sdk, "is_initialized", lambda: False)
    assert sentry.sdk() is None


def test_what_the_process_has_set_up_is_used(monkeypatch):
    monkeypatch.setattr(sentry_sdk, "is_initialized", lambda: True)
    assert sentry.sdk() is sentry_sdk
