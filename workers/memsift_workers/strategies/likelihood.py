"""`likelihood`: how probable is the question, given the memory?

Zero-shot question generation (Sachan et al. 2022, "Improving Passage Retrieval with Zero-Shot Question
Generation", https://arxiv.org/abs/2204.07496). It needs no instruction tuning, so a very small model can do
it, and each memory's KV serves every later question.
"""

from __future__ import annotations

from collections.abc import Sequence

from memsift_schemas.job import RerankJob
from memsift_schemas.result import Cause
from memsift_workers.rankers.base import RankFault, Scores
from memsift_workers.runtimes import base as runtime
from memsift_workers.strategies.base import collect
from memsift_workers.strategies.fusion import fuse
from memsift_workers.strategies.language import Language, language
from memsift_workers.strategies.quoting import quote

_PREFIX: dict[Language, str] = {
    "en": "Read the memory, then write the question that it answers.\n\nMemory: {memory}\nQuestion:",
    "zh": "下面每条记忆后面都有一个由它来回答的问题。\n\n记忆：{memory}\n问题：",
}
_SUFFIX: dict[Language, str] = {"en": " {query}", "zh": "{query}"}


class Likelihood:
    """One prompt per memory, scored by the question's log-probabilities, fused with the prior."""

    name = "likelihood"
    labels: tuple[str, ...] = ()

    def __init__(self, *, weight_en: float, weight_zh: float) -> None:
        self._weight: dict[Language, float] = {"en": weight_en, "zh": weight_zh}

    def calls(self, job: RerankJob) -> list[runtime.Call]:
        """One prompt per candidate: the memory is the cached part, the question the scored one."""
        tongue = language(job.query)
        suffix = _SUFFIX[tongue].format(query=quote(job.query))
        return [
            runtime.Call(
                prefix=_PREFIX[tongue].format(memory=quote(memory.text)),
                suffix=suffix,
                wish=runtime.Likelihood(),
                namespace=job.user,
            )
            for memory in job.candidates
        ]

    def scores(self, job: RerankJob, answers: Sequence[runtime.Answer]) -> Scores:
        """Sum each answer's log-probabilities and fuse them with the prefilter's scores."""
        if any(not answer.logprobs for answer in answers):
            raise RankFault(Cause.RUNTIME_GARBAGE, "no log-probabilities came back")
        model = [sum(answer.logprobs) for answer in answers]
        values = fuse(model, job.prior, self._weight[language(job.query)])
        return collect(values, answers)
