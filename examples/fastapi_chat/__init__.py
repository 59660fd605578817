"""A chat turn with FastAPI."""
