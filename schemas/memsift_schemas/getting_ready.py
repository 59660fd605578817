"""What an import leaves for later, done before the first job: a process that serves calls it at its start."""

from __future__ import annotations

from memsift_schemas.job import RerankJob
from memsift_schemas.result import Refusal, RerankResult, ranked
from memsift_schemas.words import jieba


def get_ready() -> None:
    """Read the Chinese dictionary and build the models of jobs and rankings.

    The first call takes 150 ms, during which nothing else in the process runs; later ones nothing.
    """
    jieba()
    for model in (RerankJob, RerankResult, Refusal):
        model.model_rebuild()
    ranked(())
