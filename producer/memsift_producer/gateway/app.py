"""The HTTP gateway: one `Reranker` behind the forms that reranking clients already speak."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import AsyncIterator

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from memsift_producer.gateway import call, keys, openapi, ui
from memsift_producer.gateway.access import Gateway, why_no_model
from memsift_producer.gateway.dialects.bare import Bare
from memsift_producer.gateway.dialects.base import Dialect
from memsift_producer.gateway.dialects.cohere_jina import CohereJina
from memsift_producer.gateway.dialects.feedback import TellsFeedback
from memsift_producer.gateway.dialects.native import Native
from memsift_producer.gateway.dialects.tei import Tei
from memsift_producer.gateway.dialects.voyage import Voyage
from memsift_producer.gateway.door import Door
from memsift_producer.gateway.running import Turns
from memsift_producer.meter import Meter
from memsift_producer.metrics import Metrics
from memsift_producer.reranker import Reranker
from memsift_schemas import settings as settings_module
from memsift_schemas.clock import Clock, SystemClock
from memsift_schemas.metrics.serving import own_registry
from memsift_schemas.settings import GatewaySettings

DIALECTS: tuple[Dialect, ...] = (Bare(), CohereJina(), Voyage(), Tei(), Native(), TellsFeedback())
# What a web page may send and read, where CORS is on at all.
_SENT = ["authorization", "content-type", call.USER, call.SESSION, call.DEADLINE, call.REQUEST_ID]
_READ = [call.REQUEST_ID, "x-memsift-source", "x-memsift-cause", "retry-after"]


def create_app(
    settings: GatewaySettings | None = None, *, clock: Clock | None = None, scenes: ui.Scenes = tuple
) -> Starlette:
    """The ASGI application; its lifespan opens and closes the `Reranker`.

    Args:
        settings: None reads them from the environment.
        clock: this machine's, for tests.
        scenes: what the page to look at rankings offers to start from, where it is served.

    Raises:
        SettingsError: a setting or the key file is wrong; names its variable.
    """
    settings = settings or settings_module.load(GatewaySettings)
    clock = clock or SystemClock()
    known = keys.Keys(keys.load(settings.gateway_keys), clock)
    metrics = Metrics(own_registry(), gateway=True) if settings.gateway_metrics_port else None
    gateway = Gateway(
        settings=settings,
        keys=known,
        reranker=Reranker(settings, metrics=metrics),
        clock=clock,
        turns=Turns(clock),
        metrics=metrics or Meter(),
    )
    contract = orjson.dumps(
        openapi.document(
            DIALECTS,
            max_documents=settings.gateway_max_documents,
            keys=bool(known),
        )
    )

    async def health(_request: Request) -> Response:
        return _json({"status": "ok"})

    async def ready(_request: Request) -> Response:
        # Always 200: without Redis or workers the prefilter answers, and another replica could do no more.
        why = why_no_model(gateway.reranker)
        return _json({"status": "ready", "answers": "prefilter" if why else "model", "cause": why})

    async def described(_request: Request) -> Response:
        return Response(contract, media_type="application/json")

    @contextlib.asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        served = metrics.serve(settings.gateway_metrics_port, settings.metrics_host) if metrics else None
        try:
            async with gateway.reranker:
                yield
        finally:
            if served is not None:
                served.close()

    return Starlette(
        routes=[
            *(
                Route(path, Door(gateway, dialect), methods=["POST"])
                for dialect in DIALECTS
                for path in dialect.paths
            ),
            Route("/health", health),
            Route("/ready", ready),
            Route("/openapi.json", described),
            *(ui.routes(gateway, scenes) if settings.gateway_ui else ()),
        ],
        middleware=_cors(settings.cors_origins),
        exception_handlers={HTTPException: _elsewhere},
        lifespan=lifespan,
    )


def _cors(origins: list[str]) -> list[Middleware]:
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=["POST", "GET"],
            allow_headers=_SENT,
            expose_headers=_READ,
        )
    ]


async def _elsewhere(_request: Request, error: Exception) -> Response:
    """No such path or method; the path is not repeated, since it may hold anything."""
    assert isinstance(error, HTTPException)
    told = "there is nothing here: see /openapi.json" if error.status_code == 404 else "use another method"  # noqa: PLR2004
    body = {"error": told, "message": told, "detail": told}
    headers = {**(error.headers or {}), call.REQUEST_ID: uuid.uuid4().hex}
    return Response(orjson.dumps(body), error.status_code, headers, media_type="application/json")


def _json(content: dict[str, str | None]) -> Response:
    return Response(orjson.dumps(content), media_type="application/json")
