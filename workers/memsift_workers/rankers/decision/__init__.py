"""The `decision` ranker: a decision model behind a System One server."""
