"""The `clef` ranker: a cross-encoder behind any server that speaks `/rerank`."""
