"""Real clients from PyPI, unpatched, against a real gateway, Redis and worker; `make test-clients`.

docs/gateway.md holds the same table for people.
"""

import functools
import hashlib
import json
import os
import subprocess
import uuid
from pathlib import Path

import pytest

from memsift_ops.stack import Stack
from tests.clients import environment
from tests.clients.environment import ALL, NEWEST_COHERE

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

ENABLED = "MEMSIFT_TEST_CLIENTS"
CALLS = Path(__file__).parent / "calls.py"
KEY = "msk_a-key-of-the-tests"
MOST_DOCUMENTS = 20
DOCUMENTS = [
    "The cabin has no heating.",
    "The spare key to the cabin lies under the blue flowerpot.",
    "Jonas moved to Trieste.",
]
RANKED = {"indexes": [1, 0, 2]}

COHERE = ("cohere.errors.unauthorized_error.UnauthorizedError", "cohere.core.api_error.ApiError")
LITELLM = ("litellm.exceptions.AuthenticationError", "litellm.exceptions.BadRequestError")
RUNTIME = ("builtins.RuntimeError",) * 2
# Some know no time limit of their own: they wait, and have the prefilter's ranking at the deadline.
WAITS = None
# The exceptions for a bad key, too many documents, and the client's own timeout.
EXPECTED = {
    "cohere_v2": (*COHERE, "httpx.ReadTimeout"),
    "cohere_v1": (*COHERE, "httpx.ReadTimeout"),
    "cohere_async": (*COHERE, "httpx.ReadTimeout"),
    "langchain_cohere": (*COHERE, "httpx.ReadTimeout"),
    "llama_index_cohere": (*COHERE, WAITS),
    "llama_index_jina": (*RUNTIME, WAITS),
    # It reads no status: what it raises is what its parser meets.
    "rerankers_cohere": ("builtins.KeyError", "builtins.KeyError", WAITS),
    "rerankers_jina": ("builtins.KeyError", "builtins.KeyError", WAITS),
    "rerankers_voyage": ("builtins.KeyError", "builtins.KeyError", WAITS),
    "rerankers_tei": ("builtins.TypeError", "builtins.TypeError", WAITS),
    "litellm_cohere": (*LITELLM, "litellm.exceptions.Timeout"),
    "litellm_jina": (*LITELLM, "litellm.exceptions.Timeout"),
    "litellm_voyage": (*LITELLM, "litellm.exceptions.Timeout"),
    "voyageai": ("voyageai.error.AuthenticationError", "voyageai.error.APIError", "voyageai.error.Timeout"),
    # It raises nothing: it gives its own order back, with all scores 0; `calls.mem0` tells.
    "mem0": (*RUNTIME, WAITS),
    "haystack_cohere": (*COHERE, WAITS),
    "haystack_jina": (*RUNTIME, WAITS),
    "haystack_tei": (*RUNTIME, "httpx.ReadTimeout"),
}
NEWEST = {f"newest_{name}": EXPECTED[name] for name in ("cohere_v2", "cohere_v1", "cohere_async")}
CLIENTS = {**EXPECTED, **NEWEST}
# Clients of one library are called from one process: importing takes longer than calling.
TOGETHER = [
    ("cohere_v2", "cohere_v1", "cohere_async"),
    ("llama_index_cohere", "llama_index_jina"),
    ("rerankers_cohere", "rerankers_jina", "rerankers_voyage", "rerankers_tei"),
    ("litellm_cohere", "litellm_jina", "litellm_voyage"),
    ("haystack_cohere", "haystack_jina", "haystack_tei"),
]


@pytest.fixture(scope="session")
def gateways(tmp_path_factory):
    """Addresses of two: one before a worker that ranks by `jev`, one whose queue nobody serves."""
    if os.environ.get(ENABLED) != "1":
        pytest.skip(f"{ENABLED} is not 1 (make test-clients): would install 0.8 GB of clients")
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    keys = tmp_path_factory.mktemp("gateway") / "keys.toml"
    keys.write_text(f'[[keys]]\nname = "app"\nsha256 = "{digest}"\nmax_documents = {MOST_DOCUMENTS}\n')
    queue = f"test:{uuid.uuid4().hex[:12]}"
    with Stack(queue) as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMSIFT_RANKER", "jev")
        patch.setenv("MEMSIFT_GATEWAY_KEYS", str(keys))
        stack.start_valkey()
        stack.start_worker()
        patch.setenv("MEMSIFT_DEADLINE_MS", "8000")
        served = stack.start_gateway()
        patch.setenv("MEMSIFT_DEADLINE_MS", "2000")
        stack.queue = f"{queue}:nobody"
        yield served, stack.start_gateway()


@pytest.fixture(scope="session")
def outcome(gateways, tmp_path_factory):
    """What happened to a client in a case; each library is asked once for all its clients and cases."""
    served, unserved = gateways
    usual = {"url": served, "key": KEY, "documents": DOCUMENTS, "timeout": 30}
    cases = {
        "happy": usual,
        "bad_key": {**usual, "key": "msk_unknown"},
        "too_long": {**usual, "documents": DOCUMENTS * 7},
        "timeout": {**usual, "url": unserved, "timeout": 0.5},
    }

    @functools.cache
    def ask(names, requirements):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        # Nothing but the gateway is to be reached: no telemetry, no list of models.
        variables |= {"MEM0_TELEMETRY": "False", "HAYSTACK_TELEMETRY_ENABLED": "False", "HF_HUB_OFFLINE": "1"}
        variables |= {
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "MEM0_DIR": str(tmp_path_factory.mktemp("mem0")),
        }
        command = [environment.python(requirements), CALLS, json.dumps(names), json.dumps(cases)]
        ended = subprocess.run(
            command, capture_output=True, text=True, timeout=240, env=variables, check=False
        )
        assert ended.returncode == 0, ended.stderr[-3_000:]
        return json.loads(ended.stdout.splitlines()[-1])

    def of(client, case):
        name = client.removeprefix("newest_")
        names = next((some for some in TOGETHER if name in some), (name,))
        return ask(names, ALL if name == client else NEWEST_COHERE)[name][case]

    return of


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_gets_the_models_ranking(outcome, client):
    assert outcome(client, "happy") == RANKED


@pytest.mark.parametrize("client", CLIENTS)
def test_a_bad_key_is_the_clients_own_exception(outcome, client):
    found = outcome(client, "bad_key")
    assert found["error"] == CLIENTS[client][0]
    assert "msk_unknown" not in found["text"]


@pytest.mark.parametrize("client", CLIENTS)
def test_too_many_documents_are_the_clients_own_exception(outcome, client):
    found = outcome(client, "too_long")
    assert found["error"] == CLIENTS[client][1]
    assert DOCUMENTS[1] not in found["text"]


@pytest.mark.parametrize("client", [name for name in CLIENTS if CLIENTS[name][0] in (COHERE[0], LITELLM[0])])
def test_the_exception_says_what_is_wrong(outcome, client):
    assert "not known" in outcome(client, "bad_key")["text"]
    assert f"21 documents are over the limit of {MOST_DOCUMENTS}" in outcome(client, "too_long")["text"]


@pytest.mark.parametrize("client", CLIENTS)
def test_its_own_timeout_is_the_clients_own_exception_else_the_prefilter_answers(outcome, client):
    expected = CLIENTS[client][2]
    found = outcome(client, "timeout")
    if expected is WAITS:
        assert found == RANKED
    else:
        assert found["error"] == expected
