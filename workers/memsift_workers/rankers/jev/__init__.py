"""The `jev` ranker: similarity, words, names and times, weighed on the CPU."""

from memsift_workers.rankers.jev.features import FEATURES, features
from memsift_workers.rankers.jev.lexical import Collection
from memsift_workers.rankers.jev.ranker import JevRanker, weigh, weights

__all__ = ["FEATURES", "Collection", "JevRanker", "features", "weigh", "weights"]
