"""The gateway as a process of its own: what `memsift gateway` runs, and `uvicorn --factory` may."""

from __future__ import annotations

import atexit

from starlette.applications import Starlette

from memsift_producer.gateway import ui
from memsift_producer.gateway.app import create_app
from memsift_schemas import logs, otel, settings
from memsift_schemas.collector import collect_less_often
from memsift_schemas.settings import GatewaySettings


def application(scenes: ui.Scenes = tuple) -> Starlette:
    """The application, in a process that does nothing else: its logging is ours.

    Args:
        scenes: see `create_app`.
    """
    checked = settings.load(GatewaySettings)
    logs.start(checked.log_level or "INFO", checked.log_format)
    atexit.register(otel.export("memsift-gateway"))
    app = create_app(checked, scenes=scenes)
    collect_less_often()
    return app
