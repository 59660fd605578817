"""The `nox` ranker: a chat model behind any OpenAI-compatible endpoint."""
