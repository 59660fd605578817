"""Each alert uses metrics of the list, has its tests in both directions, and its entry in the runbook."""

import re

import pytest
import yaml

from tests.ops.monitoring.files import PROMETHEUS, ROOT, RULES
from tests.ops.monitoring.promql import unknown

RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
ENTRIES = re.findall(r"^## (.+)$", RUNBOOK, re.MULTILINE)
NAMES = [rule["alert"] for rule in RULES]
CASES = [
    case
    for path in sorted((PROMETHEUS / "tests").glob("*.yml"))
    for test in yaml.safe_load(path.read_text())["tests"]
    for case in test["alert_rule_test"]
]


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_an_alert_uses_metrics_and_labels_of_the_list_alone(rule):
    assert unknown(rule["expr"]) == []
    assert set(rule["labels"]) == {"severity"}
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}


@pytest.mark.parametrize("rule", RULES, ids=NAMES)
def test_an_alert_links_to_its_entry_in_the_runbook(rule):
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    assert (ROOT / page).read_text() == RUNBOOK
    assert anchor == rule["alert"].lower()
    assert rule["alert"] in ENTRIES


def test_the_runbook_has_an_entry_for_every_alert_and_no_other():
    assert sorted(ENTRIES) == sorted(NAMES)
    for entry in RUNBOOK.split("\n## ")[1:]:
        assert [word for word in ("**Means**", "**See**", "**Do**") if word not in entry] == []


@pytest.mark.parametrize("name", NAMES)
def test_an_alert_is_tested_where_it_fires_and_where_it_must_not(name):
    fires = {bool(case["exp_alerts"]) for case in CASES if case["alertname"] == name}
    assert fires == {True, False}
