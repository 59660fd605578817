"""The dashboard is what the code makes, uses metrics of the list alone, and is one that Grafana can load."""

import itertools
import json

import pytest
import yaml

from memsift_ops.monitoring import dashboard, queries
from memsift_ops.monitoring.panels import Line, Panel, Row, laid_out
from memsift_schemas.metrics import catalogue
from tests.ops.monitoring.files import DASHBOARD, GRAFANA, PANELS, QUERIES, RULES, filled
from tests.ops.monitoring.promql import metrics_in, unknown


def test_the_file_is_up_to_date():
    assert (GRAFANA / "dashboards" / "memsift.json").read_text() == dashboard.page(), "run `make docs`"


@pytest.mark.parametrize(("title", "expr"), QUERIES)
def test_a_query_uses_metrics_and_labels_of_the_list_alone(title, expr):
    assert unknown(filled(expr)) == []
    # Each can be narrowed down to one process.
    assert expr.count('instance=~"$instance"') == expr.count("memsift_")


@pytest.mark.parametrize(
    ("expr", "found"),
    [
        ("rate(memsift_worker_jobs[5m])", ["memsift_worker_jobs"]),
        ("sum by (user) (memsift_worker_jobs_total)", ["user"]),
        ('sum(rate(memsift_worker_jobs_total{session="1"}[5m]))', ["session"]),
        ("memsift_worker_slack_seconds", ["memsift_worker_slack_seconds"]),
        ("sum by (le) (memsift_worker_jobs_total)", ["le"]),
        ("go_goroutines > 3", ["go_goroutines"]),
        ('sum(rate(memsift_worker_jobs_total{cause=~"a|b"}[5m])) / sum by (job) (up)', []),
        ("histogram_quantile(0.9, sum by (le, ranker) (rate(memsift_worker_rank_seconds_bucket[1m])))", []),
    ],
)
def test_what_the_list_does_not_know_is_found(expr, found):
    assert unknown(expr) == found


def test_every_metric_is_on_the_dashboard_or_in_an_alert():
    shown = set().union(
        *(metrics_in(expr) for _, expr in QUERIES), *(metrics_in(rule["expr"]) for rule in RULES)
    )
    names = {name.removesuffix(part) for name in shown for part in ("_bucket", "_sum", "_count", "")}
    # The release of each frontend is for who looks at `/metrics`.
    assert {metric.name for metric in catalogue.ALL} - names == {"memsift_producer_info"}


def test_panels_have_numbers_of_their_own_and_do_not_overlap():
    placed = DASHBOARD["panels"]
    assert len({panel["id"] for panel in placed}) == len(placed)
    assert overlapping(placed) == []
    assert all(panel["gridPos"]["x"] + panel["gridPos"]["w"] <= 24 for panel in placed)


def overlapping(placed):
    def meet(one, other):
        a, b = one["gridPos"], other["gridPos"]
        across = a["x"] < b["x"] + b["w"] and b["x"] < a["x"] + a["w"]
        return across and a["y"] < b["y"] + b["h"] and b["y"] < a["y"] + a["h"]

    return [(a["id"], b["id"]) for a, b in itertools.combinations(placed, 2) if meet(a, b)]


def test_overlap_is_found():
    placed = laid_out([Row("r", [Panel("a", [Line("1")], "A."), Panel("b", [Line("1")], "B.")])])
    assert overlapping(placed) == []
    placed[2]["gridPos"]["x"] -= 1
    assert overlapping(placed) == [(2, 3)]


def test_every_panel_asks_the_chosen_datasource_and_says_what_it_shows():
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    for panel in PANELS:
        assert panel["datasource"]["uid"] == "${datasource}"
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        assert panel["description"].endswith(".")
    used = {name for name in ("queue", "instance") if f"${name}" in json.dumps(PANELS)}
    assert used == variables.keys() - {"datasource"}
    for name in used:
        assert unknown(variables[name]["definition"].removeprefix("label_values(").split(",")[0]) == []


def test_a_query_with_a_label_that_the_metric_lacks_cannot_be_made():
    with pytest.raises(ValueError, match="has no label user"):
        queries.selected(catalogue.JOBS, user='="x"')


def test_grafana_is_told_where_the_dashboard_lies_and_whom_to_ask():
    (provider,) = yaml.safe_load((GRAFANA / "provisioning/dashboards/memsift.yaml").read_text())["providers"]
    assert provider["type"] == "file"
    (source,) = yaml.safe_load((GRAFANA / "provisioning/datasources/memsift.yaml").read_text())["datasources"]
    assert (source["type"], source["url"]) == ("prometheus", "$PROMETHEUS_URL")
