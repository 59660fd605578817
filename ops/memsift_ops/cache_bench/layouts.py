"""The layouts that are compared, each as a ranker of its own on the same engine."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from memsift_ops.cache_bench.meter import Meter
from memsift_schemas.clock import SystemClock
from memsift_schemas.job import RerankJob
from memsift_schemas.result import Cause
from memsift_schemas.settings import WorkerSettings
from memsift_workers.assembly import build_decks
from memsift_workers.decks.deck import Limits
from memsift_workers.decks.laid import Laid
from memsift_workers.decks.session import Decks
from memsift_workers.rankers.base import RankFault, Scores
from memsift_workers.rankers.local import LocalRanker
from memsift_workers.runtimes.base import Answer, Call, Labels, Runtime
from memsift_workers.runtimes.remembering import Remembering
from memsift_workers.strategies.base import Strategy, collect
from memsift_workers.strategies.layout import memory_line, question
from memsift_workers.strategies.likelihood import Likelihood
from memsift_workers.strategies.listwise import ASKS, SYSTEM, Listwise
from memsift_workers.strategies.shortlist import by_prior, spread
from memsift_workers.strategies.templates import TEMPLATES

NAMES = ("naive", "kind", "deck", "likelihood")


class Naive(Listwise):
    """What one writes first: question, then the memories, best by the prefilter first; bare logits."""

    name = "naive"

    @property
    def deck_size(self) -> int:
        """There is no deck."""
        return 0

    def calls(self, job: RerankJob, laid: Laid) -> list[Call]:
        """One prompt, of which no later one shares more than the instructions."""
        shown = self._shown(job)
        lines = "".join(
            f"{label}: {memory_line(job.candidates[at])}\n"
            for label, at in zip(self._labels, shown, strict=False)
        )
        labels = Labels(self._labels[: len(shown)])
        suffix = f"{question(job)}Memories:\n{lines}{ASKS}{self._template.before_answer}"
        return [Call((self._template.opening(SYSTEM),), suffix, labels, namespace=job.user)]

    def scores(self, job: RerankJob, laid: Laid, answers: Sequence[Answer]) -> Scores:
        """The logits as they are."""
        shown = self._shown(job)
        if len(answers) != 1 or len(answers[0].logprobs) != len(shown):
            raise RankFault(Cause.RUNTIME_GARBAGE, "not one log-probability per label")
        return collect(spread(job, dict(zip(shown, answers[0].logprobs, strict=True))), answers)

    def _shown(self, job: RerankJob) -> list[int]:
        return by_prior(job)[: len(self._labels)]


def build(runtime: Runtime, settings: WorkerSettings) -> dict[str, tuple[LocalRanker, Meter]]:
    """A ranker for each layout, and what counts its prompts.

    Args:
        runtime: shared by all, started.
        settings: name the Redis that keeps the decks, the deck's limits, the chat template and the weights.
    """
    template = TEMPLATES[settings.chat_template]
    weights = {"weight_en": settings.fusion_weight_en, "weight_zh": settings.fusion_weight_zh}
    strategies: dict[str, Strategy] = {
        "naive": Naive(template, **weights),
        "kind": Listwise(template, **weights),
        "deck": Listwise(template, **weights),
        "likelihood": Likelihood(**weights),
    }
    limits = Limits(settings.deck_memories, settings.deck_tokens, settings.deck_carry)
    found = {}
    for name in NAMES:
        meter = Meter(runtime)
        alone = Decks(limits, None, runtime="", clock=monotonic)
        decks = build_decks(settings) if name == "deck" else alone
        remembering = Remembering(meter, SystemClock())
        found[name] = (LocalRanker(remembering, strategies[name], decks), meter)
    return found
