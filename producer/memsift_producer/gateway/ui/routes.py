"""The page's paths: its files, what it asks before a question, and the question itself."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from importlib import resources
from typing import Any

import orjson
from pydantic import TypeAdapter
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from memsift_producer.gateway.access import Gateway
from memsift_producer.gateway.door import Door
from memsift_producer.gateway.problems import Problem
from memsift_producer.gateway.ui.explained import ForPeople
from memsift_producer.gateway.ui.fence import Fence
from memsift_producer.gateway.ui.scene import Scene
from memsift_producer.gateway.ui.standing import standing

Scenes = Callable[[], Iterable[Scene]]

_FOLDER = "assets"
_INDEX = "index.html"
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_SCENES: TypeAdapter[tuple[Scene, ...]] = TypeAdapter(tuple[Scene, ...])
Endpoint = Callable[[Request], Any]


def routes(gateway: Gateway, scenes: Scenes) -> list[BaseRoute]:
    """The page's paths.

    Its files hold nothing but themselves and are given to everybody who may reach the page, since a browser
    can show no key before it has them. All else needs a key where there are keys.

    Args:
        gateway: what all paths share.
        scenes: what the page offers to start from.
    """
    offered = _SCENES.dump_json(tuple(scenes()))
    door = Door(gateway, ForPeople())
    inside = [
        *(Route("/" if name == _INDEX else f"/{name}", endpoint) for name, endpoint in _files()),
        Route("/state", _guarded(gateway, lambda: standing(gateway).model_dump_json().encode())),
        Route("/scenes", _guarded(gateway, lambda: offered)),
        Route("/rank", door, methods=["POST"]),
    ]
    return [
        Mount("/ui", routes=inside, middleware=[Middleware(Fence, gateway=gateway)]),
        Route("/", _to_page),
    ]


async def _to_page(_request: Request) -> Response:
    return RedirectResponse("ui/")


def _files() -> Iterable[tuple[str, Endpoint]]:
    """Each of the page's files by its name, read once."""
    for file in sorted((resources.files(__package__) / _FOLDER).iterdir(), key=lambda one: one.name):
        kind = _TYPES.get(file.name.rpartition(".")[2])
        if kind is not None:
            yield file.name, _file(file.read_bytes(), kind)


def _file(content: bytes, kind: str) -> Endpoint:
    async def endpoint(_request: Request) -> Response:
        return Response(content, media_type=kind)

    return endpoint


def _guarded(gateway: Gateway, tell: Callable[[], bytes]) -> Endpoint:
    """JSON for who may ask."""

    async def endpoint(request: Request) -> Response:
        try:
            gateway.admit(request.scope, dict(request.scope["headers"]))
        except Problem as problem:
            told = ForPeople().problem(problem, uuid.uuid4().hex)
            return Response(orjson.dumps(told), problem.status, problem.headers, "application/json")
        return Response(tell(), media_type="application/json")

    return endpoint
