"""Which metrics and labels an expression uses, and which of them the list of metrics does not know."""

import re

from memsift_schemas.metrics.catalogue import ALL
from memsift_schemas.metrics.metric import Kind

# What Prometheus adds to every series, and what it says of a target itself.
TARGET = {"job", "instance"}
KNOWN = {"up": set()}
for metric in ALL:
    if metric.kind is Kind.HISTOGRAM:
        KNOWN[f"{metric.name}_bucket"] = {*metric.labels, "le"}
        KNOWN |= {f"{metric.name}{part}": set(metric.labels) for part in ("_sum", "_count")}
    else:
        KNOWN[metric.name] = set(metric.labels)

_SELECTOR = re.compile(r"([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\}|\[|(?=[\s)+\-*/<>=!,]|$))")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_WORDS = {
    *(
        "by",
        "without",
        "on",
        "ignoring",
        "group_left",
        "group_right",
        "and",
        "or",
        "unless",
        "bool",
        "offset",
    ),
    *(
        "sum",
        "max",
        "min",
        "avg",
        "count",
        "rate",
        "increase",
        "abs",
        "absent",
        "vector",
        "histogram_quantile",
    ),
}


def unknown(expr):
    """Names of metrics and labels in an expression that are not in the list."""
    bare = re.sub(r'"[^"]*"', '""', expr)
    grouped = [
        label.strip() for found in _GROUPING.findall(bare) for label in found.split(",") if label.strip()
    ]
    bare = _GROUPING.sub(" ", bare)
    found, of_all = [], set(TARGET)
    for name, matchers in _SELECTOR.findall(bare):
        if name in _WORDS or re.fullmatch(r"\d+[smhd]|[smhd]|e\d*", name):
            continue
        if name not in KNOWN:
            found.append(name)
            continue
        labels = KNOWN[name] | TARGET
        of_all |= labels
        used = [match.split("=")[0].rstrip("!~ ").strip() for match in (matchers or "").split(",") if match]
        found += [label for label in used if label not in labels]
    return found + [label for label in grouped if label not in of_all]


def metrics_in(expr):
    """Names of our metrics in an expression."""
    return set(re.findall(r"memsift_\w+", re.sub(r'"[^"]*"', '""', expr)))
