"""The gateway as a process of its own: what `memsift gateway` runs, and `uvicorn --factory` may."""

from __future__ import annotations

import gc

from starlette.applications import Starlette

from memsift_producer.gateway.app import create_app


def application() -> Starlette:
    """The application, in a process that does nothing else.

    A call makes hundreds of small objects and no cycles; with Python's defaults the cyclic collector goes
    through all calls in flight again and again.
    """
    app = create_app()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 50, 100)
    return app
