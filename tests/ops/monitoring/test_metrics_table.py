"""The docs' table of metrics is the code's."""

from memsift_ops.monitoring.metrics_table import page
from memsift_schemas.metrics.catalogue import ALL
from tests.ops.monitoring.files import ROOT


def test_the_page_in_the_docs_is_up_to_date():
    assert (ROOT / "docs" / "metrics.md").read_text() == page(), "run `make docs`"


def test_every_metric_is_on_it_once():
    lines = page().splitlines()
    for metric in ALL:
        (row,) = [line for line in lines if line.startswith(f"| `{metric.name}` ")]
        assert all(f"`{label}`" in row for label in metric.labels)
