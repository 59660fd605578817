"""A worker's metrics: counted per batch, looked up in Redis once a second."""
