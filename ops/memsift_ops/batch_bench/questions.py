"""Users in the middle of a conversation: their memories have been read, their next question is new."""

from __future__ import annotations

import dataclasses
import itertools

from memsift_ops.cache_bench import sessions
from memsift_ops.cache_bench.replay import job_of
from memsift_schemas.job import RerankJob
from memsift_schemas.settings import ProducerSettings


class Users:
    """Makes questions of the conversations of `memsift demo`, one user for each place in a batch.

    Args:
        keep: memories of a job.
    """

    def __init__(self, keep: int) -> None:
        self._settings = ProducerSettings(prefilter_keep=keep)
        # No more than are kept: else a question would choose, and not all find theirs in the cache.
        self._cases = [
            dataclasses.replace(case, memories=case.memories[:keep])
            for case in (session.cases[0] for session in sessions.own())
        ]
        self._numbers = itertools.count(1)

    def ask(self, user: int) -> RerankJob:
        """A question that this user has not asked before, about the memories of the one before."""
        case = self._cases[user % len(self._cases)]
        asked = dataclasses.replace(case, query=f"{case.query} ({next(self._numbers)})")
        return job_of(asked, f"batch-{user}", self._settings)
