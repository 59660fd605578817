"""The adapters in the real frameworks, before a real Redis and worker; `make test-clients`.

The tests themselves are tests/contract/adapters; here they run in the frameworks' own environment.
"""

import os
import subprocess
import uuid
from pathlib import Path

import pytest

from memsift_ops.stack import Stack
from tests.clients import environment
from tests.clients.environment import ALL
from tests.clients.test_clients import ENABLED
from tests.contract.adapters.conftest import BEGUN, QUEUE, URL

pytestmark = [pytest.mark.clients, pytest.mark.timeout(600)]

ROOT = Path(__file__).parent.parent.parent
TESTS = ROOT / "tests" / "contract" / "adapters"
PACKAGES = [str(ROOT), str(ROOT / "schemas"), str(ROOT / "producer")]


@pytest.fixture(scope="session")
def variables(tmp_path_factory):
    """The environment of a test run that finds a worker with `jev`, and no way out of this machine."""
    if os.environ.get(ENABLED) != "1":
        pytest.skip(f"{ENABLED} is not 1 (make test-clients): would install 0.8 GB of frameworks")
    with Stack(f"test:{uuid.uuid4().hex[:12]}") as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMSIFT_RANKER", "jev")
        url = stack.start_valkey()
        stack.start_worker()
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        yield inherited | {
            BEGUN: "1",
            URL: url,
            QUEUE: stack.queue,
            "PYTHONPATH": os.pathsep.join(PACKAGES),
            "MEM0_TELEMETRY": "False",
            "HAYSTACK_TELEMETRY_ENABLED": "False",
            "HF_HUB_OFFLINE": "1",
            "OPENAI_API_KEY": "none",
            "MEM0_DIR": str(tmp_path_factory.mktemp("mem0")),
        }


def test_every_adapter_keeps_the_contract_in_its_real_framework(variables):
    command = [
        *(environment.python(ALL), "-m", "pytest", "-q", TESTS),
        *("-c", TESTS / "frameworks.ini", "--rootdir", ROOT, "--confcutdir", TESTS),
    ]
    ended = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=540, env=variables, check=False
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-6_000:]
    # Then nothing was left out
    assert " skipped" not in ended.stdout
