"""The gateway's contract as OpenAPI 3.1, made from the models that read the bodies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from memsift_producer.gateway import call
from memsift_producer.gateway.dialects.base import Dialect
from memsift_producer.gateway.problems import (
    Invalid,
    Malformed,
    NoKey,
    NotJson,
    OutOfScope,
    Problem,
    TooLarge,
    TooMany,
    TooSlow,
)

# Of this contract, not of the release.
VERSION = "1"
_DESCRIPTION = (
    "Ranks memories and documents on your own machines. Every call is answered by its deadline: where the "
    "model cannot, by the prefilter's ranking, with `x-memsift-source: prefilter` and its cause."
)
_REFUSALS: tuple[type[Problem], ...] = (
    Malformed, NoKey, OutOfScope, TooSlow, TooLarge, NotJson, Invalid, TooMany, Problem,
)  # fmt: skip
_HEADERS = (
    (call.USER, "Whose memories these are, within the key's scope.", {"type": "string", "maxLength": 128}),
    (
        call.SESSION,
        "The conversation; its turns share a cached prefix.",
        {"type": "string", "maxLength": 128},
    ),
    (
        call.DEADLINE,
        "Milliseconds from the call's arrival.",
        {"type": "integer", "minimum": 1, "maximum": 999_999_999},
    ),
    (
        call.REQUEST_ID,
        "Comes back, and stands in the log.",
        {
            "type": "string",
        },
    ),
)
_ORIGIN = {
    "x-memsift-source": {
        "description": "Who ranked: `model` or `prefilter`.",
        "required": True,
        "schema": {"enum": ["model", "prefilter"]},
    },
    "x-memsift-cause": {
        "description": "Why the prefilter did; absent for `model`.",
        "schema": {"type": "string"},
    },
}


def document(dialects: Iterable[Dialect], *, max_documents: int, keys: bool) -> dict[str, Any]:
    """The OpenAPI document.

    Args:
        dialects: what is spoken.
        max_documents: in one call.
        keys: whether calls need one.
    """
    spoken = list(dialects)
    refs, schemas = _schemas(spoken)
    paths = {path: {"post": _operation(dialect, path, refs)} for dialect in spoken for path in dialect.paths}
    for schema in schemas.values():
        for field in ("documents", "texts"):
            if field in schema.get("properties", {}):
                schema["properties"][field]["maxItems"] = max_documents
    for path, what in (
        ("/health", "The process lives"),
        ("/ready", "Who would answer now: model or prefilter"),
    ):
        paths[path] = {
            "get": {"summary": what, "responses": {"200": {"description": "It does"}}, "security": []}
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "memsift", "version": VERSION, "description": _DESCRIPTION},
        "paths": paths,
        "security": [{"key": []}] if keys else [],
        "components": {
            "schemas": schemas,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
    }


def _schemas(dialects: list[Dialect]) -> tuple[dict[type[BaseModel], Any], dict[str, Any]]:
    """A reference to each model, and all schemas under names that tell the dialect."""
    refs: dict[type[BaseModel], Any] = {}
    schemas: dict[str, Any] = {}
    for dialect in dialects:
        prefix = dialect.name.title().replace("-", "")
        models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
            (dialect.request, "validation"),
            (dialect.response, "serialization"),
            (dialect.refusal, "serialization"),
        ]
        template = f"#/components/schemas/{prefix}{{model}}"
        found, defined = models_json_schema(models, ref_template=template)
        refs |= {model: found[model, mode] for model, mode in models}
        schemas |= {f"{prefix}{name}": schema for name, schema in defined["$defs"].items()}
    return refs, schemas


def _operation(dialect: Dialect, path: str, refs: dict[type[BaseModel], Any]) -> dict[str, Any]:
    asked, answered = dialect.example
    refusals = {
        str(one.status): {
            "description": (one.__doc__ or "").splitlines()[0],
            "content": {"application/json": {"schema": refs[dialect.refusal]}},
        }
        for one in _REFUSALS
    }
    return {
        "operationId": path.strip("/").replace("/", "_"),
        "summary": dialect.summary,
        "parameters": [
            {"name": name, "in": "header", "description": what, "schema": schema}
            for name, what, schema in _HEADERS
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": refs[dialect.request],
                    "examples": {"usual": {"value": asked}},
                }
            },
        },
        "responses": {
            "200": {
                "description": "A ranking" if dialect.ranks else "What became of it",
                "headers": _ORIGIN if dialect.ranks else {},
                "content": {
                    "application/json": {
                        "schema": refs[dialect.response],
                        "examples": {"usual": {"value": answered}},
                    }
                },
            },
            **refusals,
        },
    }
