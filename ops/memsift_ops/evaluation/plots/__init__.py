"""The pictures of the report, as SVG that scales with the page and takes its colours from the style sheet.

Colours are classes `c0`, `c1`, ... in the order of the rankers; the prefilter is always `c0`, a grey. Nothing
is told by colour alone: every mark has a name beside it. Each picture takes the numbers of one set.
"""

from memsift_ops.evaluation.plots.abstention import abstention
from memsift_ops.evaluation.plots.gains import gains
from memsift_ops.evaluation.plots.groups import groups
from memsift_ops.evaluation.plots.latency import latency
from memsift_ops.evaluation.plots.reliability import reliability
from memsift_ops.evaluation.plots.tradeoff import tradeoff

__all__ = ["abstention", "gains", "groups", "latency", "reliability", "tradeoff"]
