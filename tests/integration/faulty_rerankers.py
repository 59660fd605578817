"""Rerankers that break a promise each, for the queue protocol to find out."""

import asyncio

from memsift_producer import Reranker


class AnswersAnother(Reranker):
    """A fault: each call gets the ranking of the call before it."""

    before = None

    async def rerank(self, **question):
        mine = await super().rerank(**question)
        self.before, given = mine, self.before or mine
        return given


class ForgetsWhoLeft(Reranker):
    """A fault: a caller that goes away leaves its job behind unmarked."""

    async def rerank(self, **question):
        asked = asyncio.ensure_future(super().rerank(**question))
        return await asyncio.shield(asked)


class Late(Reranker):
    """A fault: each call returns a second after it should."""

    async def rerank(self, **question):
        mine = await super().rerank(**question)
        await asyncio.sleep(1)
        return mine
