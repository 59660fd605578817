"""What a strategy may ask of an inference runtime, and what it gets back.

A runtime answers lists of calls: one micro-batch is one `run`. A call is a prompt in two parts, `prefix`
(what earlier or later prompts share, worth keeping in the prefix cache) and `suffix` (what is new), and one
wish. The prefix comes in pieces. Runtimes tokenize each piece and the suffix by itself, so that every border
is a token border: prompts whose first pieces are the same begin with the same tokens, whatever follows, and a
piece that was seen before need not be tokenized again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


class RuntimeFault(Exception):
    """The runtime could not answer. The message names no prompt text. The caller falls back."""


class RuntimeUnavailable(RuntimeFault):
    """The runtime is away (connection refused, HTTP 5xx). Another try, or a smaller batch, may work."""


class RuntimeCrashed(RuntimeUnavailable):
    """The connection broke while the request was under way: the engine may have died of it, or by chance."""


class RuntimeTimeout(RuntimeFault):
    """No answer within the time given; what was under way has been aborted."""


class RuntimeGarbage(RuntimeFault):
    """The runtime answered something that is no answer: wrong count, no number, not JSON."""


class RuntimeMisconfigured(RuntimeFault):
    """The runtime can never answer as it is set up (a label that is no single token, no such model)."""


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Wish: the log-probability of every token of `suffix`, given all before it."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Wish: the log-probabilities of these single-token labels as the next token after `suffix`."""

    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Json:
    """Wish: JSON text that follows `schema`, decoded greedily, at most `max_tokens` tokens."""

    schema: dict[str, Any]
    max_tokens: int = 256


Wish = Likelihood | Labels | Json


# Not frozen, though nobody changes them: a batch makes hundreds, and a frozen one takes four times as long.
@dataclass(slots=True)
class Call:
    """One prompt and what is wanted of it.

    Attributes:
        prefix: pieces of text whose KV is worth keeping; what other prompts share comes first.
        suffix: text that is new; for `Likelihood` the text that is scored. Never empty.
        wish: what to answer.
        namespace: prompts of different namespaces never share cached KV (a user's id).
    """

    prefix: tuple[str, ...] = field(repr=False)
    suffix: str = field(repr=False)
    wish: Wish
    namespace: str = ""


@dataclass(slots=True)
class Answer:
    """What came back for one call.

    Attributes:
        logprobs: natural logarithms; one per suffix token (`Likelihood`) or per label (`Labels`).
        text: the generated text (`Json`), else empty.
        prompt_tokens: tokens of prefix and suffix.
        prefix_tokens: tokens of each piece of the prefix; what the model wants at the start of a prompt
            counts with the first.
        cached_tokens: how many of them were served from the prefix cache.
        output_tokens: tokens that were decoded.
    """

    logprobs: tuple[float, ...] = ()
    text: str = field(default="", repr=False)
    prompt_tokens: int = 0
    prefix_tokens: tuple[int, ...] = ()
    cached_tokens: int = 0
    output_tokens: int = 0


@runtime_checkable
class Runtime(Protocol):
    """An inference engine, in this process or behind HTTP. All answers are at temperature 0."""

    @property
    def name(self) -> str:
        """Which runtime this is."""
        ...

    @property
    def model(self) -> str:
        """The model that it serves, known after `start`."""
        ...

    async def start(self) -> None:
        """Load and warm the model; returns when the first real call will be fast.

        Raises:
            RuntimeMisconfigured: it can never work as configured; the message names the remedy.
            RuntimeUnavailable: the server is not there (yet).
        """
        ...

    async def usable_labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """Those of the labels that are one token of the model, and not the token of one before them."""
        ...

    async def run(self, calls: Sequence[Call], *, timeout: float) -> list[Answer]:
        """Answer all calls, in their order.

        Args:
            calls: any number of prompts; all of them go to the engine as one batch.
            timeout: seconds; after it the work is aborted in the engine.

        Raises:
            RuntimeFault: a subclass that says what to do; no partial answers.
        """
        ...

    async def close(self) -> None:
        """Give back memory and connections. Safe to call twice."""
        ...


@runtime_checkable
class Reachable(Protocol):
    """What can tell, without a job, whether it is there; for rankers and runtimes that have a server."""

    async def reach(self) -> None:
        """Ask the server for something cheap.

        Raises:
            RuntimeFault: it does not answer, or is another one now.
        """
        ...
