"""Runs in a peer's own virtual environment; but for `memsift_system`, nothing of memsift is imported."""
