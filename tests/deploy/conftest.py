"""All of `tests/deploy` but the presets' sums carry the marker `deploy` and run with `make test-deploy`."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.deploy import environment
from tests.deploy.paths import OPS
from tests.integration.servers import Servers


def pytest_collection_modifyitems(items):
    """Skip what needs the tools, unless they were prepared."""
    if os.environ.get(environment.ENABLED) == "1":
        return
    skip = pytest.mark.skip(reason=f"{environment.ENABLED} is not 1 (make test-deploy)")
    for item in items:
        if item.get_closest_marker("deploy"):
            item.add_marker(skip)


def make_secrets(folder, redis="redis:6379"):
    """What `ops/make-secrets.sh` makes, in a folder that is not there yet."""
    subprocess.run([OPS / "make-secrets.sh", folder, redis], check=True, capture_output=True, timeout=60)
    return folder


@pytest.fixture(scope="session")
def secrets(tmp_path_factory):
    return make_secrets(tmp_path_factory.mktemp("made") / "secrets")


@pytest.fixture
def servers(tmp_path):
    started = Servers(tmp_path)
    yield started
    started.stop()


@pytest.fixture(scope="module")
def open_folder():
    """A folder that other users can enter, as they cannot pytest's own."""
    made = Path(tempfile.mkdtemp(prefix="memsift-deploy-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)
