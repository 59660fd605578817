"""Configuration, rules, their tests and every query of the dashboard, as Prometheus's own tool sees them."""

import shutil
import urllib.request

import pytest
import yaml

from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.instruments import Instruments
from memsift_schemas.metrics.serving import MetricsServer, own_registry
from tests.ops.monitoring.files import PROMETHEUS, QUERIES, RULES, filled

pytestmark = pytest.mark.monitoring

TESTS = sorted((PROMETHEUS / "tests").glob("*.yml"))


def test_the_configuration_and_its_rules_can_be_loaded(promtool):
    code, said = promtool("check", "config", PROMETHEUS / "prometheus.yml")
    assert code == 0, said
    assert f"{len(RULES)} rules found" in said


@pytest.mark.parametrize("path", TESTS, ids=lambda path: path.stem)
def test_the_rules_pass_their_tests(promtool, path):
    code, said = promtool("test", "rules", path)
    assert code == 0, said


# For each alert a change that its tests must notice.
FAULTS = {
    "MemsiftQueueOld": ("> 1\n", ">= 1\n"),
    "MemsiftFallbackRatio": ('source!="none", cause!="no_candidates"', ""),
    "MemsiftBreakerOpen": ("max by (queue) (memsift_breaker_open)", "min by (queue) (memsift_breaker_open)"),
    "MemsiftExpiredRatio": ("expired|too_late", "expired|too_late|cancelled"),
    "MemsiftCacheHitRatioFalling": ("< 0.7 *", "< 0.8 *"),
    "MemsiftHitRateFalling": ("< 0.9 *", "< 0.96 *"),
    "MemsiftRedisMemory": ("> 0.8", ">= 0.8"),
    "MemsiftRedisAway": ("(memsift_redis_up) == 0", "(memsift_redis_up) == 1"),
    "MemsiftWorkerMissing": ('up{job="memsift-worker"} == 0\n        for', "up == 0\n        for"),
    "MemsiftNoWorkers": ('or absent(up{job="memsift-worker"} == 1)', ""),
    "MemsiftClockSkew": ("abs(memsift_worker_clock_skew_seconds)", "memsift_worker_clock_skew_seconds"),
}


@pytest.mark.parametrize("name", [rule["alert"] for rule in RULES])
def test_a_rule_that_is_wrong_fails_its_tests(promtool, tmp_path, name):
    shutil.copytree(PROMETHEUS, tmp_path, dirs_exist_ok=True)
    rules = tmp_path / "rules" / "memsift.yml"
    right, wrong = FAULTS[name]
    text = rules.read_text()
    at = text.index(right, text.index(f"alert: {name}\n"))
    rules.write_text(text[:at] + wrong + text[at + len(right) :])
    its = [path for path in sorted((tmp_path / "tests").glob("*.yml")) if name in path.read_text()]
    code, said = promtool("test", "rules", *its)
    assert code != 0
    assert f"alertname: {name}" in said


def as_rules(tmp_path, exprs):
    rules = [{"record": f"query_{at}", "expr": expr} for at, expr in enumerate(exprs)]
    path = tmp_path / "queries.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    return path


def test_every_query_of_the_dashboard_can_be_parsed(promtool, tmp_path):
    code, said = promtool("check", "rules", as_rules(tmp_path, [filled(expr) for _, expr in QUERIES]))
    assert code == 0, said
    assert f"{len(QUERIES)} rules found" in said


def test_a_query_that_cannot_be_parsed_is_found(promtool, tmp_path):
    code, said = promtool("check", "rules", as_rules(tmp_path, ["sum by (le (memsift_workers)"]))
    assert code != 0
    assert "could not parse expression" in said


def test_the_names_and_helps_of_metrics_are_as_prometheus_wants_them(promtool):
    """Given every metric with a value, then its linter has nothing to say."""
    registry = own_registry()
    instruments = Instruments(catalogue.ALL, registry)
    for metric in catalogue.ALL:
        instruments._child(metric, ("x",) * len(metric.labels))
    server = MetricsServer(registry)
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    server.close()
    ours = "".join(line for line in text.splitlines(keepends=True) if "memsift_" in line)
    code, said = promtool("check", "metrics", stdin=ours)
    assert (code, said) == (0, "")
    code, said = promtool(
        "check", "metrics", stdin=ours.replace("memsift_producer_calls_total", "memsift_calls")
    )
    assert code != 0
    assert "memsift_calls" in said
