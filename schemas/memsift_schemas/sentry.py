"""Sentry's SDK where the process has set it up; a frontend that has not does not pay for its import."""

from __future__ import annotations

import sys
from types import ModuleType


def sdk() -> ModuleType | None:
    """The SDK; None where nobody in this process has initialised it, so that nothing would be sent."""
    module = sys.modules.get("sentry_sdk")
    return module if module is not None and module.is_initialized() else None
