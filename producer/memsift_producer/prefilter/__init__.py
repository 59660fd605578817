"""The rule-based first stage and the fallback ranking: arithmetic and word lists, no model, no I/O."""

from memsift_producer.prefilter.explanation import Seen, Signal, explain, weights
from memsift_producer.prefilter.kinds import by_kind, guess_kind
from memsift_producer.prefilter.prefilter import Prefiltered, Weighing, prefilter
from memsift_producer.prefilter.reading import Reader

__all__ = [
    "Prefiltered",
    "Reader",
    "Seen",
    "Signal",
    "Weighing",
    "by_kind",
    "explain",
    "guess_kind",
    "prefilter",
    "weights",
]
