"""What runs beside the GPU: the Celery app, the drain, rankers, strategies, runtimes."""
