"""What runs on the embedded runtime's thread: text to tokens, calls to prompts, scores to answers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import openvino_genai as genai

from memsift_workers.models.openvino_ir import openvino_folder
from memsift_workers.runtimes.base import (
    Answer,
    Call,
    Json,
    Labels,
    Likelihood,
    RuntimeGarbage,
    RuntimeMisconfigured,
    RuntimeUnavailable,
)
from memsift_workers.runtimes.embedded_json import JsonWriter
from memsift_workers.runtimes.labels import usable
from memsift_workers.runtimes.paged_model import PagedModel, UnsupportedModel
from memsift_workers.runtimes.prefix_cache import CacheTooSmall
from memsift_workers.runtimes.scoring import Prompt, Score, Scorer

Tokens = list[int]


class Engine:
    """A loaded model. Lives on one thread.

    Args:
        path: a GGUF file, or a folder in OpenVINO's form.
        cache_mb: memory for the KV cache, in MiB.
        threads: CPU threads; 0 takes one per core.

    Raises:
        RuntimeMisconfigured: the model cannot be used; the message says why.
    """

    def __init__(self, path: Path, *, cache_mb: int, threads: int) -> None:
        folder = openvino_folder(path)
        try:
            self._tokenizer = genai.Tokenizer(folder)
            self._scorer = Scorer(PagedModel(folder, cache_mb=cache_mb, threads=threads))
        except UnsupportedModel as error:
            raise RuntimeMisconfigured(f"cannot use {path}: {error}") from None
        except RuntimeError as error:
            raise RuntimeMisconfigured(f"OpenVINO cannot load {path}: {error}") from None
        self._json = JsonWriter(folder, self._tokenizer, threads=threads)
        # What a prompt without a prefix starts with, so that its first token is predicted by something.
        bos = self._tokenizer.get_bos_token_id()
        self._label_tokens: dict[str, int] = {}
        self._opening = [bos if bos >= 0 else self._tokenizer.get_eos_token_id()]

    def warm_up(self) -> None:
        """Run once with a batch of the usual size, so that kernels are built and memory is touched."""
        calls = [
            Call((f"Memory: {at} words to warm up with.\nQuestion:",), " Which?", Likelihood())
            for at in range(20)
        ]
        self.answer(calls, _go_on)

    def encode(self, texts: Sequence[str], *, start: bool = False) -> list[Tokens]:
        """Token ids of each text; `start` adds what the model wants at the start of a prompt."""
        different = [text for text in dict.fromkeys(texts) if text or start]
        if not different:
            return [[] for _ in texts]
        encoded = self._tokenizer.encode(different, add_special_tokens=start)
        ids, mask = encoded.input_ids.data, encoded.attention_mask.data
        known = {text: row[kept != 0].tolist() for text, row, kept in zip(different, ids, mask, strict=True)}
        return [known.get(text, []) for text in texts]

    def answer(self, calls: Sequence[Call], check: Callable[[], None]) -> list[Answer]:
        """Answer all calls, in their order.

        Args:
            calls: any mixture of wishes.
            check: called before each forward pass; what it raises ends the work.

        Raises:
            RuntimeFault: see `Runtime.run`.
        """
        check()
        pieces = self._pieces(calls)
        suffixes = self.encode([call.suffix for call in calls])
        prompts: list[Prompt] = []
        texts: list[tuple[Json, Tokens]] = []
        for call, tokens, suffix in zip(calls, pieces, suffixes, strict=True):
            prefix = [token for piece in tokens for token in piece]
            if isinstance(call.wish, Json):
                texts.append((call.wish, prefix + suffix))
            else:
                prompts.append(self._prompt(call.namespace, call.wish, prefix, suffix))
        try:
            scored = map(_answer, prompts, self._scorer.score(prompts, check))
            written = iter(self._json.write(texts, check))
        except CacheTooSmall as error:
            raise RuntimeMisconfigured(f"{error}: raise MEMSIFT_EMBEDDED_CACHE_MB") from None
        except (RuntimeError, MemoryError):
            # All that OpenVINO raises. Its message says nothing that the operator could act on.
            raise RuntimeUnavailable("the inference engine failed") from None
        answers = [next(written if isinstance(call.wish, Json) else scored) for call in calls]
        return [
            replace(answer, prefix_tokens=tuple(map(len, tokens)))
            for answer, tokens in zip(answers, pieces, strict=True)
        ]

    def usable_labels(self, labels: Sequence[str]) -> tuple[str, ...]:
        """See `Runtime.usable_labels`."""
        ids = dict(zip(labels, self.encode(labels), strict=True))
        found = usable(ids)
        self._label_tokens.update({label: ids[label][0] for label in found})
        return found

    def _pieces(self, calls: Sequence[Call]) -> list[list[Tokens]]:
        """The tokens of each piece of each prefix; never none at all."""
        firsts = self.encode([call.prefix[0] if call.prefix else "" for call in calls], start=True)
        rest = iter(self.encode([piece for call in calls for piece in call.prefix[1:]]))
        found = [
            [first, *(next(rest) for _ in call.prefix[1:])] for call, first in zip(calls, firsts, strict=True)
        ]
        for pieces in found:
            if not any(pieces):
                pieces[0] = self._opening
        return found

    def _label_token(self, label: str) -> int:
        if label not in self._label_tokens and label not in self.usable_labels([label]):
            raise RuntimeMisconfigured(f"the label {label!r} is no single token of the model")
        return self._label_tokens[label]

    def _prompt(self, namespace: str, wish: Likelihood | Labels, prefix: Tokens, suffix: Tokens) -> Prompt:
        """Cut before the last token of the prefix, which predicts the first of the suffix."""
        whole = [prefix[-1], *suffix]
        if isinstance(wish, Labels):
            wanted = [(len(suffix), self._label_token(label)) for label in wish.labels]
        else:
            wanted = list(enumerate(suffix))
        return Prompt(namespace, prefix[:-1], whole, wanted)


def _answer(prompt: Prompt, score: Score) -> Answer:
    if not all(map(math.isfinite, score.logprobs)):
        raise RuntimeGarbage("a log-probability is not a finite number")
    return Answer(
        logprobs=score.logprobs,
        prompt_tokens=len(prompt.context) + len(prompt.rest),
        cached_tokens=score.cached_tokens,
    )


def _go_on() -> None:
    pass
