"""JSON schemas of what travels, from the pydantic models; each field with its words from the docstring."""

import re
from inspect import cleandoc

from memsift_schemas import Refusal, RerankJob, RerankResult
from memsift_schemas.job import MAX_JOB_BYTES
from memsift_schemas.wire import WIRE_VERSION

DIALECT = "https://json-schema.org/draft/2020-12/schema"
VERSION = {"const": WIRE_VERSION, "default": WIRE_VERSION, "description": "The wire version."}
_FIELD = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)


def job():
    """The `job` argument of a message, clear."""
    schema = _schema(RerankJob)
    schema["properties"] = {"v": VERSION, **schema["properties"]}
    # It has done its work in the producer.
    del schema["$defs"]["Memory"]["properties"]["embedding"]
    schema["$comment"] = f"At most {MAX_JOB_BYTES} bytes. Unknown fields are ignored."
    return {"$schema": DIALECT, **schema}


def reply():
    """An item of a reply list, clear."""
    result, refusal = _schema(RerankResult), _schema(Refusal)
    definitions = {**result.pop("$defs"), **refusal.pop("$defs")}
    either = [
        {
            "title": title,
            "type": "object",
            "properties": {"v": VERSION, name: {"$ref": f"#/$defs/{model}"}},
            "required": [name],
        }
        for title, name, model in (
            ("ResultReply", "result", "RerankResult"),
            ("RefusalReply", "refusal", "Refusal"),
        )
    ]
    return {
        "$schema": DIALECT,
        "title": "Reply",
        "description": "A worker's answer to one job.",
        "anyOf": either,
        "$defs": {**definitions, "RerankResult": result, "Refusal": refusal},
    }


def _schema(model):
    schema = model.model_json_schema()
    for one in (schema, *schema.get("$defs", {}).values()):
        _describe(one)
    return schema


def _describe(schema):
    """Move what a docstring says of each attribute to that attribute."""
    said, _, attributes = cleandoc(schema.get("description", "")).partition("\n\nAttributes:\n")
    schema["description"] = " ".join(said.split())
    told = {name: " ".join(text.split()) for name, text in _FIELD.findall(attributes)}
    for name, field in schema.get("properties", {}).items():
        field.pop("title", None)
        if name in told:
            field["description"] = told[name]
