"""What a chat frontend imports: ask for a reranking, get one by the deadline."""

from memsift_producer.reranker import Reranker
from memsift_producer.reranking import Reranking
from memsift_producer.sync import SyncReranker
from memsift_producer.told import BreakerChange, FeedbackOutcome
from memsift_schemas.errors import NotForgotten

__all__ = ["BreakerChange", "FeedbackOutcome", "NotForgotten", "Reranker", "Reranking", "SyncReranker"]
