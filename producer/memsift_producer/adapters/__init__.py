"""A `Reranker` in the form that a framework expects: one module each, imported only by who uses it."""
