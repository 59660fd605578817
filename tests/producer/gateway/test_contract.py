"""The OpenAPI document is what the gateway does: schemathesis sends what it allows and what it does not."""

import hashlib
import json
import re
import subprocess
import sys
import urllib.request
import uuid
from pathlib import Path

import pytest

from memsift_ops.stack import Stack
from memsift_producer.gateway.app import DIALECTS
from tests.producer.gateway.conftest import KEY, bearer, serving

CONFIG = Path(__file__).parent / "schemathesis.toml"
EXAMPLES = 40


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    """Before a worker without a model."""
    folder = tmp_path_factory.mktemp("contract")
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    (folder / "keys.toml").write_text(f'[[keys]]\nname = "app"\nuser = "*"\nsha256 = "{digest}"\n')
    with Stack(f"test:{uuid.uuid4().hex[:12]}") as stack, pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMSIFT_RUNTIME", "scripted")
        patch.setenv("MEMSIFT_SCRIPTED_MS", "2")
        patch.setenv("MEMSIFT_GATEWAY_KEYS", str(folder / "keys.toml"))
        stack.start_valkey()
        stack.start_worker()
        yield stack.start_gateway(), folder


def schemathesis(document, url, folder, *arguments):
    """Exit code and output of a run over a document, with every check that the configuration leaves on."""
    known = [sys.executable, "-m", "schemathesis.cli", f"--config-file={CONFIG}", "run", str(document)]
    known += [f"--url={url}", "-H", f"Authorization: Bearer {KEY}", "--no-color"]
    known += [f"--max-examples={EXAMPLES}", "--phases=examples,coverage,fuzzing", *arguments]
    ended = subprocess.run(known, capture_output=True, text=True, timeout=280, cwd=folder, check=False)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.stack
@pytest.mark.timeout(300)
def test_schemathesis_finds_no_500_and_no_break_of_the_contract(gateway):
    url, folder = gateway
    code, output = schemathesis(f"{url}/openapi.json", url, folder)
    assert code == 0, output
    assert int(re.search(r"(\d+) generated", output)[1]) > 6 * EXAMPLES
    # Nothing of it was refused for its key alone
    assert "Missing authentication" not in output


@pytest.mark.stack
@pytest.mark.timeout(300)
def test_schemathesis_finds_a_contract_that_does_not_hold(gateway):
    url, folder = gateway
    # Given a document that promises a field which no answer has
    with urllib.request.urlopen(f"{url}/openapi.json") as answer:
        document = json.load(answer)
    document["components"]["schemas"]["VoyageUsage"]["required"].append("cost_usd")
    (folder / "wrong.json").write_text(json.dumps(document))
    # When it is run, then it says so
    code, output = schemathesis(folder / "wrong.json", url, folder, "--include-path=/voyage/v1/rerank")
    assert code == 1
    assert "cost_usd" in output


@pytest.mark.stack
@pytest.mark.timeout(300)
def test_schemathesis_finds_what_is_taken_against_the_contract(gateway):
    url, folder = gateway
    # Given a document that allows a single document, where the gateway takes a thousand
    with urllib.request.urlopen(f"{url}/openapi.json") as answer:
        document = json.load(answer)
    document["components"]["schemas"]["VoyageRequest"]["properties"]["documents"]["maxItems"] = 1
    (folder / "narrow.json").write_text(json.dumps(document))
    # When it is run, then what is taken all the same is found
    code, output = schemathesis(folder / "narrow.json", url, folder, "--include-path=/voyage/v1/rerank")
    assert code == 1
    assert "Schema-violating request accepted" in output


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_the_examples_are_what_they_are_examples_of(client, dialect):
    asked, answered = dialect.example
    dialect.request.model_validate_json(json.dumps(asked))
    dialect.response.model_validate_json(json.dumps(answered))
    for path in dialect.paths:
        answer = await client.post(path, json=asked)
        assert answer.status_code == 200
        dialect.response.model_validate_json(answer.content)
        # Same fields, same order of documents: the answer of the example could have been this one
        assert fields(answered) <= fields(answer.json())


def fields(body):
    rows = body if isinstance(body, list) else [body]
    return {name for row in rows for name in row}


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
async def test_a_refusal_has_the_form_that_the_contract_tells(client, dialect):
    for path in dialect.paths:
        answer = await client.post(path, json={})
        assert answer.status_code == 422
        dialect.refusal.model_validate_json(answer.content)


async def test_the_document_tells_what_is_set(valkey_url, queue, key_file):
    async with serving(redis_url=valkey_url, queue=queue, gateway_max_documents=7) as client:
        opened = (await client.get("/openapi.json")).json()
    async with serving(redis_url=valkey_url, queue=queue, gateway_keys=key_file()) as client:
        closed = (await client.get("/openapi.json")).json()
        assert (await client.post("/rerank", json={}, headers=bearer("msk_no"))).status_code == 401
    assert opened["components"]["schemas"]["CohereJinaRequest"]["properties"]["documents"]["maxItems"] == 7
    assert (opened["security"], closed["security"]) == ([], [{"key": []}])
    statuses = opened["paths"]["/v2/rerank"]["post"]["responses"].keys()
    assert statuses == {"200", "400", "401", "403", "408", "413", "415", "422", "429", "500"}
