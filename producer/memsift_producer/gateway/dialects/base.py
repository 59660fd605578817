"""What a dialect is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Protocol

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from memsift_producer.gateway.call import Call
from memsift_producer.gateway.problems import Problem
from memsift_producer.reranker import Reranker
from memsift_schemas.job import MAX_CANDIDATES
from memsift_schemas.result import RerankResult
from memsift_schemas.text import NOT_BLANK_PATTERN, clean


class Form(BaseModel):
    """Base of all bodies: frozen, tolerant of fields that we do not read, silent about values in errors.

    Strict, so that what is read is what the contract says: "3" is no number.
    """

    model_config = ConfigDict(
        frozen=True, strict=True, extra="ignore", hide_input_in_errors=True, allow_inf_nan=False
    )


def _not_blank(value: str) -> str:
    if not clean(value).strip():
        raise ValueError("the query must not be blank")
    return value


Query = Annotated[
    str,
    Field(
        min_length=1,
        repr=False,
        description="The question; what is over 2,000 characters is cut.",
        json_schema_extra={"pattern": NOT_BLANK_PATTERN},
    ),
    AfterValidator(_not_blank),
]


ModelName = Annotated[
    str | None,
    Field(
        description="A ranker that the workers serve, such as `jev>local`; any other name: the default one."
    ),
]


class Usage(Form):
    """Tokens that the model read and wrote; 0 where it did not answer."""

    total_tokens: int = Field(ge=0)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


# JSON knows one sort of numbers: 3.0 is 3. Bounds stand here and not at the field, where an optional one
# would lose them in its JSON schema.
WholeNumber = Annotated[int, BeforeValidator(_whole)]
Count = Annotated[int, Field(ge=1), BeforeValidator(_whole)]
PromptSize = Annotated[int, Field(ge=1, le=MAX_CANDIDATES), BeforeValidator(_whole)]


@dataclass(frozen=True, slots=True)
class Answer:
    """A body to send, and the ranking that it tells, if it tells one."""

    body: bytes = field(repr=False)
    result: RerankResult | None


class Dialect(Protocol):
    """One form of asking and answering.

    Attributes:
        name: shown in logs.
        ranks: whether it answers with a ranking.
        paths: where it is spoken.
        summary: one line for the OpenAPI page.
        request: its body.
        response: its answer's body.
        refusal: the body of a refusal.
        example: a request, and what may be answered.
    """

    name: ClassVar[str]
    ranks: ClassVar[bool]
    paths: ClassVar[tuple[str, ...]]
    summary: ClassVar[str]
    request: ClassVar[type[BaseModel]]
    response: ClassVar[type[BaseModel]]
    refusal: ClassVar[type[BaseModel]]
    example: ClassVar[tuple[Any, Any]]

    async def answer(self, raw: bytes, call: Call, reranker: Reranker) -> Answer:
        """Answer one body.

        Raises:
            Problem: it is not answered with a ranking.
        """
        ...

    def problem(self, problem: Problem, request_id: str) -> Mapping[str, Any]:
        """A refusal's body, as clients of this dialect read it."""
        ...
