"""A real Prometheus on the sample configuration, in a hurry."""

import json
import os
import re
import shutil
import subprocess
import time
import urllib.parse
import urllib.request

import pytest

from memsift_ops import valkey
from tests.integration.servers import Servers, until
from tests.monitoring.environment import REMEDY, missing
from tests.ops.monitoring.files import PROMETHEUS

ENABLED = "MEMSIFT_TEST_MONITORING"


@pytest.fixture(scope="session", autouse=True)
def programs():
    """Skips unless `MEMSIFT_TEST_MONITORING=1`; with it, programs that are missing are an error."""
    if os.environ.get(ENABLED) != "1":
        pytest.skip(f"set {ENABLED}=1, or run `make test-monitoring`")
    if missing():
        pytest.fail(REMEDY)


@pytest.fixture
def promtool():
    """Run promtool: exit code and all that it printed."""

    def run(*arguments, stdin=None):
        ended = subprocess.run(
            ["promtool", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return ended.returncode, ended.stdout + ended.stderr

    return run


class Prometheus:
    """A server and its API."""

    def __init__(self, port, child):
        self.url, self.child = f"http://127.0.0.1:{port}", child

    def api(self, path, **told):
        query = f"?{urllib.parse.urlencode(told)}" if told else ""
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}{query}", timeout=10) as answer:
            return json.load(answer)["data"]

    def value(self, expr):
        """The samples of an instant query, as numbers."""
        return [float(one["value"][1]) for one in self.api("query", query=expr)["result"]]

    def targets(self):
        """Health of each target by its job."""
        return {
            one["labels"]["job"]: one["health"]
            for one in self.api("targets", state="active")["activeTargets"]
        }

    def alerts(self, state="firing"):
        """Names of the alerts in this state."""
        return {one["labels"]["alertname"] for one in self.api("alerts")["alerts"] if one["state"] == state}

    def until(self, condition, seconds=30.0):
        return until(condition, seconds, self.child)


@pytest.fixture
def prometheus(tmp_path):
    """Start one that scrapes these targets every second, and whose alerts wait for two seconds."""
    servers = Servers(tmp_path)

    def start(**targets):
        folder = tmp_path / "prometheus"
        shutil.copytree(PROMETHEUS, folder)
        config = folder / "prometheus.yml"
        config.write_text(re.sub(r"_interval: 15s", "_interval: 1s", config.read_text()))
        rules = folder / "rules" / "memsift.yml"
        rules.write_text(re.sub(r"for: \d+m", "for: 2s", rules.read_text()))
        for name, port in targets.items():
            (folder / "targets" / f"{name}.yml").write_text(f'- targets: ["127.0.0.1:{port}"]\n')
        port = valkey.free_port()
        child = servers.start(
            "prometheus",
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={tmp_path / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
            ],
        )
        one = Prometheus(port, child)
        until(lambda: _ready(one.url), child=child)
        return one

    yield start
    servers.stop()


def _ready(url):
    try:
        with urllib.request.urlopen(f"{url}/-/ready", timeout=2) as answer:
            return answer.status == 200
    except OSError:
        time.sleep(0.1)
        return False
