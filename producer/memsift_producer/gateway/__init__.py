"""HTTP in front of a `Reranker`, for clients that speak a reranking API: `pip install 'memsift[gateway]'`."""

from memsift_producer.gateway.app import create_app

__all__ = ["create_app"]
