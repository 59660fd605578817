"""What `/generate` of SGLang 0.5.23 is sent and what it answers. Pure functions, no I/O.

One request holds the prompts of a whole batch, and nearly every field may be one value for all or a list
with one value per prompt, so a batch may mix wishes and namespaces. An sglang-router (0.3.2) refuses the
lists with HTTP 422 and takes one value for all prompts of a request; the batch is then split by value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from memsift_workers.runtimes.base import (
    Answer,
    Json,
    Labels,
    Likelihood,
    RuntimeGarbage,
    RuntimeMisconfigured,
    RuntimeUnavailable,
    Wish,
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A call as token ids.

    Attributes:
        prefix: ids of the prefix, with the model's BOS if it has one.
        suffix: ids of the suffix.
        wish: what the call asks for.
        namespace: the call's.
        labels: the id of each label of a `Labels` wish.
        pieces: how many ids of the prefix each of its pieces gave.
    """

    prefix: list[int]
    suffix: list[int]
    wish: Wish
    namespace: str
    labels: list[int]
    pieces: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One `/generate` request.

    Attributes:
        positions: which prompts of the batch it holds, in its order.
        body: the JSON body, still without `rid` and `model`.
    """

    positions: list[int]
    body: dict[str, Any]


def plan(prompts: Sequence[Prompt], *, lists: bool) -> list[Request]:
    """Spread a batch over as few requests as the server allows.

    Args:
        prompts: at least one.
        lists: the server takes one value per prompt, so that one request is enough.

    Raises:
        RuntimeMisconfigured: a likelihood is wished of a prompt whose prefix has no token.
    """
    fields = [_fields(prompt) for prompt in prompts]
    if lists:
        columns = {name: [field[name] for field in fields] for name in fields[0]}
        return [Request(list(range(len(prompts))), {"input_ids": _ids(prompts), **columns})]
    groups: dict[bytes, list[int]] = {}
    for position, field in enumerate(fields):
        groups.setdefault(orjson.dumps(field), []).append(position)
    return [
        Request(positions, {"input_ids": _ids([prompts[at] for at in positions]), **fields[positions[0]]})
        for positions in groups.values()
    ]


def parse(reply: Any, prompts: Sequence[Prompt]) -> list[Answer]:
    """Read the answers to one request.

    Generated text is passed on as it is: whether it is the JSON that was wished, and what then, is for the
    strategy to decide prompt by prompt.

    Raises:
        RuntimeGarbage: wrong count, a log-probability that is missing or no finite number.
        RuntimeUnavailable: the server aborted a request by itself.
    """
    if not isinstance(reply, list) or len(reply) != len(prompts):
        count = len(reply) if isinstance(reply, list) else "no list of"
        raise RuntimeGarbage(f"/generate gave {count} answers for {len(prompts)} prompts")
    try:
        return [_answer(item, prompt) for item, prompt in zip(reply, prompts, strict=True)]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise RuntimeGarbage(f"/generate gave an answer of another form ({type(error).__name__})") from None


def _ids(prompts: Sequence[Prompt]) -> list[list[int]]:
    return [[*prompt.prefix, *prompt.suffix] for prompt in prompts]


def _fields(prompt: Prompt) -> dict[str, Any]:
    sampling: dict[str, Any] = {"temperature": 0.0}
    match prompt.wish:
        case Likelihood():
            if not prompt.prefix:
                raise RuntimeMisconfigured("a likelihood needs a prefix of at least one token")
            sampling["max_new_tokens"] = 0
        case Labels():
            sampling["max_new_tokens"] = 1
        case Json(schema, max_tokens):
            sampling["max_new_tokens"] = max_tokens
            sampling["json_schema"] = orjson.dumps(schema).decode()
    scored = isinstance(prompt.wish, Likelihood)
    return {
        "sampling_params": sampling,
        "return_logprob": not isinstance(prompt.wish, Json),
        # The first position asked for never has a log-probability, so ask from the prefix's last token on.
        # Only what lies before this position can come from the prefix cache.
        "logprob_start_len": len(prompt.prefix) - 1 if scored else -1,
        "token_ids_logprob": prompt.labels,
        "extra_key": prompt.namespace,
    }


def _answer(item: dict[str, Any], prompt: Prompt) -> Answer:
    meta = item["meta_info"]
    finish = meta["finish_reason"]
    if isinstance(finish, dict) and finish["type"] == "abort":
        raise RuntimeUnavailable("the server aborted a request by itself")
    match prompt.wish:
        case Likelihood():
            entries = meta["input_token_logprobs"][1:]
            if [entry[1] for entry in entries] != prompt.suffix:
                raise RuntimeGarbage(
                    f"{len(entries)} log-probabilities do not fit the {len(prompt.suffix)} tokens of a suffix"
                )
            logprobs = tuple(_number(entry[0]) for entry in entries)
        case Labels():
            found = {entry[1]: entry[0] for entry in meta["output_token_ids_logprobs"][0]}
            logprobs = tuple(_number(found[label]) for label in prompt.labels)
        case Json():
            logprobs = ()
    text = item["text"] if isinstance(prompt.wish, Json) else ""
    if not isinstance(text, str):
        raise RuntimeGarbage("/generate gave a text that is none")
    return Answer(
        logprobs=logprobs,
        text=text,
        prompt_tokens=int(meta["prompt_tokens"]),
        prefix_tokens=prompt.pieces,
        cached_tokens=int(meta["cached_tokens"]),
        output_tokens=int(meta["completion_tokens"]),
    )


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise RuntimeGarbage("/generate gave a log-probability that is no finite number")
    return float(value)
