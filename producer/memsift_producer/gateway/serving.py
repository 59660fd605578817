"""The gateway as a process of its own: what `memsift gateway` runs, and `uvicorn --factory` may."""

from __future__ import annotations

from starlette.applications import Starlette

from memsift_producer.gateway.app import create_app
from memsift_schemas import logs, settings
from memsift_schemas.collector import collect_less_often
from memsift_schemas.settings import GatewaySettings


def application() -> Starlette:
    """The application, in a process that does nothing else: its logging is ours."""
    checked = settings.load(GatewaySettings)
    logs.start(checked.log_level or "INFO", checked.log_format)
    app = create_app(checked)
    collect_less_often()
    return app
