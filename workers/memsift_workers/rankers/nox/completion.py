"""What is read of a chat completion. Servers differ in all the rest, so nothing else is looked at."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memsift_workers.runtimes.base import RuntimeGarbage


class _Read(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)


class _Message(_Read):
    content: str | None = Field(None, repr=False)


class _Choice(_Read):
    message: _Message = Field(repr=False)
    finish_reason: str | None = None


class _Details(_Read):
    cached_tokens: int | None = Field(None, ge=0)


class _Usage(_Read):
    prompt_tokens: int = Field(0, ge=0)
    completion_tokens: int = Field(0, ge=0)
    prompt_tokens_details: _Details | None = None


class Completion(_Read):
    """A chat completion with at least one choice."""

    choices: list[_Choice] = Field(min_length=1, repr=False)
    model: str | None = None
    usage: _Usage | None = None

    @property
    def text(self) -> str:
        """What the model said; empty when it refused or was cut off."""
        choice = self.choices[0]
        return "" if choice.finish_reason == "length" else choice.message.content or ""

    @property
    def tokens(self) -> tuple[int, int, int]:
        """Prompt, cached and output tokens; 0 where the server does not count."""
        usage = self.usage or _Usage()
        details = usage.prompt_tokens_details or _Details()
        cached = min(details.cached_tokens or 0, usage.prompt_tokens)
        return usage.prompt_tokens, cached, usage.completion_tokens


def read_completion(content: bytes) -> Completion:
    """Read an answer's body.

    Raises:
        RuntimeGarbage: it is no chat completion.
    """
    try:
        return Completion.model_validate_json(content)
    except ValidationError:
        raise RuntimeGarbage("the endpoint's answer is no chat completion") from None
