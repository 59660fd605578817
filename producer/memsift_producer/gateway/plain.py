"""A question over plain documents, as all reranking APIs ask it: texts to a place and a score for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from memsift_producer import documents
from memsift_producer.documents import Ranking
from memsift_producer.gateway.asking import ask
from memsift_producer.gateway.call import Call
from memsift_producer.gateway.problems import Invalid, TooLarge
from memsift_producer.question import Question
from memsift_producer.reranker import Reranker
from memsift_schemas.errors import InvalidInput
from memsift_schemas.ranker_names import RANKERS


@dataclass(frozen=True, slots=True)
class Asked:
    """What a plain dialect's body says.

    Attributes:
        query: the question.
        texts: the documents.
        model: names a ranker of ours, such as `jev>local`; any other name takes the worker's default one.
        top: how many of the best are wanted; None for all.
    """

    query: str = field(repr=False)
    texts: Sequence[str] = field(repr=False)
    model: str | None = None
    top: int | None = None


async def rank(asked: Asked, call: Call, reranker: Reranker) -> Ranking:
    """Rank plain documents. Each becomes a memory whose time and similarity are unknown.

    Raises:
        TooLarge: more documents than this call may hold.
        Invalid: the question, user or session cannot be.
        OutOfScope: the key may not name this user.
    """
    __tracebackhide__ = True  # its local variables are the user's words, which error reports would show
    count = len(asked.texts)
    if count > call.max_documents:
        raise TooLarge(f"{count} documents are over the limit of {call.max_documents}: send fewer")
    question = Question(
        query=asked.query,
        memories=[{"text": text} for text in asked.texts],
        user=call.user(),
        session=call.session,
        ranker=ranker_of(asked.model),
    )
    try:
        return await documents.rank(
            question, lambda chosen: ask(chosen, call, reranker), settings=reranker.settings, top=asked.top
        )
    except InvalidInput as error:
        raise Invalid(str(error)) from None


def ranker_of(model: str | None) -> str | None:
    """The ranker that a model's name means; None for the worker's default one."""
    return model if model is not None and all(part in RANKERS for part in model.split(">")) else None
