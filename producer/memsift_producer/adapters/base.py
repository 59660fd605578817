"""What all adapters share: their options, and the way from documents to a ranking."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import BaseModel, ConfigDict, Field, field_validator

from memsift_producer import documents
from memsift_producer.adapters import fields
from memsift_producer.documents import Document, Ranking, within
from memsift_producer.process import own_reranker
from memsift_producer.question import Question
from memsift_producer.reranker import Reranker
from memsift_producer.sync import SyncReranker
from memsift_schemas.clock import SystemClock
from memsift_schemas.job import ANONYMOUS, DEFAULT_SESSION
from memsift_schemas.memory import Id

SOURCE = "memsift_source"
CAUSE = "memsift_cause"


class Adapter(BaseModel):
    """Options of every adapter, and how it asks.

    Attributes:
        reranker: what to ask: a `SyncReranker` from any thread or event loop, or a `Reranker`, whose event
            loop then is the only one to call from, by the async methods. None: one that all adapters of the
            process share, configured by `MEMSIFT_*`.
        min_relevance: leave out what is known to be less probably relevant; None takes
            `MEMSIFT_MIN_RELEVANCE`.
        user: whose memories these are; one user's cache never serves another's.
        session: the conversation.
        deadline: seconds that a call may take; None takes `MEMSIFT_DEADLINE_MS`.
        ranker: another ranker than the workers' default.
        timezone: the IANA name of the zone of times that name none; None: such a time is unknown.
        time_key: where metadata says when a memory was learned.
        kind_key: where metadata says its kind.
        similarity_key: where metadata says its similarity, if the framework has no field for it.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True, hide_input_in_errors=True)

    reranker: Reranker | SyncReranker | None = Field(default=None, exclude=True, repr=False)
    min_relevance: float | None = Field(default=None, ge=0, le=1)
    user: Id = ANONYMOUS
    session: Id = DEFAULT_SESSION
    deadline: float | None = Field(default=None, gt=0)
    ranker: str | None = None
    timezone: str | None = None
    time_key: str = "created_at"
    kind_key: str = "kind"
    similarity_key: str = "similarity"

    @field_validator("timezone")
    @classmethod
    def _known(cls, value: str | None) -> str | None:
        try:
            return value and ZoneInfo(value).key
        except (ZoneInfoNotFoundError, ValueError):
            raise ValueError("no such time zone: use an IANA name, such as Asia/Shanghai") from None

    def _document(self, text: Any, meta: Mapping[str, Any] | None, **own: Any) -> Document:
        """A document from its text, its metadata, and the fields that the framework has for these."""
        said = meta or {}
        zone = ZoneInfo(self.timezone) if self.timezone else None
        similarity = own.get("similarity")
        return fields.document(
            text,
            id=fields.identity(own.get("id")),
            created_at=fields.moment(said.get(self.time_key), zone),
            kind=fields.kind(said.get(self.kind_key)),
            similarity=fields.number(said.get(self.similarity_key) if similarity is None else similarity),
            embedding=fields.vector(own.get("embedding")),
        )

    def _rank(self, query: str, given: Sequence[Document], top: int | None, **more: Any) -> Ranking:
        """Rank; blocks until the deadline at the latest.

        Args:
            query: the question.
            given: the documents.
            top: how many are wanted; None for all.
            **more: further arguments of `Reranker.rerank`.

        Raises:
            InvalidInput: an argument is wrong. Operational faults never raise.
            RuntimeError: the reranker belongs to an event loop, or is not open.
        """
        __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
        asked = self.reranker or own_reranker()
        if isinstance(asked, Reranker):
            raise RuntimeError(
                "this adapter's `reranker` belongs to an event loop: await the async method, or give it a "
                "SyncReranker"
            )
        return asked.call(lambda reranker: self._ask(reranker, query, given, top, more))

    async def _arank(self, query: str, given: Sequence[Document], top: int | None, **more: Any) -> Ranking:
        """As `_rank`; being cancelled withdraws the job."""
        __tracebackhide__ = True
        asked = self.reranker or own_reranker()
        if isinstance(asked, Reranker):
            return await self._ask(asked, query, given, top, more)
        return await asked.call_async(lambda reranker: self._ask(reranker, query, given, top, more))

    async def _ask(
        self,
        reranker: Reranker,
        query: str,
        given: Sequence[Document],
        top: int | None,
        more: Mapping[str, Any],
    ) -> Ranking:
        __tracebackhide__ = True
        settings = reranker.settings
        told = {"user": self.user, "session": self.session, **more}
        question = Question(
            query=query,
            memories=given,
            min_relevance=settings.min_relevance if self.min_relevance is None else self.min_relevance,
            ranker=self.ranker,
            **told,
        )
        ask = within(reranker, self.deadline or settings.deadline_ms / 1e3, SystemClock())
        return await documents.rank(question, ask, settings=settings, top=top)


def marks(ranking: Ranking) -> dict[str, str | None]:
    """What a document's metadata says of its ranking: who made it, and why the prefilter did."""
    result = ranking.result
    return {SOURCE: result.source.value, CAUSE: result.cause.value if result.cause else None}
