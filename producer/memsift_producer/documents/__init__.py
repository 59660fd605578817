"""Documents of any reranking API or framework: as memories into a `Reranker`, as places and scores out."""

from memsift_producer.documents.ranking import Document, Place, Ranking, rank, within

__all__ = ["Document", "Place", "Ranking", "rank", "within"]
