"""The runtimes that the contract holds for: one without a model, the embedded engine, a real SGLang."""

import orjson
import pytest

from memsift_workers.runtimes.base import (
    Answer,
    Call,
    Json,
    Labels,
    Likelihood,
    RuntimeUnavailable,
)
from memsift_workers.runtimes.sglang import SGLangRuntime
from tests.fakes import FakeRuntime

SUBJECTS = [
    "fake",
    pytest.param("embedded", marks=pytest.mark.engine),
    pytest.param("sglang", marks=pytest.mark.sglang),
]


class CachingFake(FakeRuntime):
    """Remembers prefixes as a prefix cache would, one cache per namespace; a word is a token."""

    def __init__(self):
        super().__init__(rule=self.remember)
        self.seen = set()

    async def usable_labels(self, labels):
        return tuple(dict.fromkeys(label for label in labels if label and " " not in label))

    def remember(self, call):
        words, asked, known = "".join(call.prefix).split(), call.suffix.split(), 0
        for size in range(1, len(words) + 1):
            key = (call.namespace, *words[:size])
            known = size if key in self.seen else known
            self.seen.add(key)
        tokens = {
            "prompt_tokens": len(words) + len(asked),
            "prefix_tokens": tuple(len(piece.split()) for piece in call.prefix),
            "cached_tokens": known,
        }
        match call.wish:
            case Likelihood():
                return Answer(logprobs=tuple(-1.0 if word in words else -2.0 for word in asked), **tokens)
            case Labels(labels):
                return Answer(logprobs=tuple(-float(at) for at in range(len(labels))), **tokens)
            case Json(schema):
                names = schema["properties"]["ranking"]["items"]["enum"][-1:]
                text = orjson.dumps({"ranking": names, "reason": "because"}).decode()
                return Answer(text=text, output_tokens=9, **tokens)


@pytest.fixture
async def runtime(request):
    """One started runtime."""
    match request.param:
        case "fake":
            subject = CachingFake()
            await subject.start()
            yield subject
        case "embedded":
            yield request.getfixturevalue("embedded_runtime")
        case "sglang":
            subject = SGLangRuntime(request.getfixturevalue("sglang_server"))
            await subject.start()
            yield subject
            await subject.close()


class Faulty:
    """Any runtime with one fault put in; everything else goes through to the real one."""

    def __init__(self, inner, fault):
        self._inner, self._fault = inner, fault

    def __getattr__(self, name):
        return getattr(self._inner, name)

    async def run(self, calls: list[Call], *, timeout):
        if self._fault == "http_500":
            raise RuntimeUnavailable("HTTP 500")
        answers = await self._inner.run(calls, timeout=timeout)
        match self._fault:
            case "garbage":
                return [Answer(logprobs=(float("nan"),), text="no ranking") for _ in answers]
            case "too_few":
                return answers[:-1]
            case _:
                return answers
