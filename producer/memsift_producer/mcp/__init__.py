"""A `Reranker` as tools for agents, over the Model Context Protocol: `pip install 'memsift[mcp]'`."""

from memsift_producer.mcp.server import create_server

__all__ = ["create_server"]
