"""The drain: micro-batches off a Redis list, through a ranker, to the reply lists."""
