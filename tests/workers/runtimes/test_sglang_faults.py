"""The SGLang runtime when the server fails, lies, is silent, or nobody wants the answer any more."""

import asyncio
import json
import traceback

import pytest

from memsift_workers.runtimes.base import (
    Call,
    Likelihood,
    RuntimeFault,
    RuntimeGarbage,
    RuntimeMisconfigured,
    RuntimeTimeout,
    RuntimeUnavailable,
)
from memsift_workers.runtimes.sglang import SGLangRuntime
from tests.workers.runtimes.fake_sglang import MIXED, MODEL, FakeSGLang, check_mixed, tokenize

SECRET = "the user's secret"


def spoil_meta(**changes):
    def spoil(answers):
        answers[0]["meta_info"] |= changes
        return json.dumps(answers).encode()

    return spoil


FAULTS = {
    "http-500": (lambda _: 500, RuntimeUnavailable),
    "http-429": (lambda _: 429, RuntimeUnavailable),
    "http-400": (lambda _: 400, RuntimeMisconfigured),
    "http-401": (lambda _: 401, RuntimeMisconfigured),
    "not-json": (lambda _: b"<html>" + SECRET.encode(), RuntimeGarbage),
    "empty": (lambda _: b"", RuntimeGarbage),
    "no-list": (lambda _: b'{"a": 1}', RuntimeGarbage),
    "too-few": (lambda answers: json.dumps(answers[:1]).encode(), RuntimeGarbage),
    "too-many": (lambda answers: json.dumps([*answers, answers[0]]).encode(), RuntimeGarbage),
    "no-meta": (lambda answers: b'[{"text": ""}, {"text": ""}]', RuntimeGarbage),
    "nan": (spoil_meta(input_token_logprobs=[[None, 1, None], [float("nan"), 2, None]]), RuntimeGarbage),
    "null": (
        spoil_meta(input_token_logprobs=[[None, 1, None], *([None, one, None] for one in tokenize("def"))]),
        RuntimeGarbage,
    ),
    "a-token-short": (
        spoil_meta(input_token_logprobs=[[None, 1, None], [-1.0, tokenize("def")[0], None]]),
        RuntimeGarbage,
    ),
    "other-tokens": (
        spoil_meta(input_token_logprobs=[[None, 1, None], [-1.0, 5, None], [-1.0, 6, None]]),
        RuntimeGarbage,
    ),
    "no-logprobs": (spoil_meta(input_token_logprobs=None), RuntimeGarbage),
    "aborted": (spoil_meta(finish_reason={"type": "abort", "message": SECRET}), RuntimeUnavailable),
}


@pytest.mark.parametrize(("spoil", "fault"), FAULTS.values(), ids=FAULTS)
async def test_a_bad_answer_is_the_right_fault_and_names_no_prompt(fake_server, connect_sglang, spoil, fault):
    runtime = await connect_sglang(fake_server)
    fake_server.spoil = spoil
    with pytest.raises(fault) as caught:
        await runtime.run([Call((SECRET,), "def", Likelihood()), MIXED[1]], timeout=5)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    # And the next batch is answered again
    fake_server.spoil = None
    check_mixed(await runtime.run(MIXED, timeout=5))


@pytest.mark.parametrize("entry", [None, [], [[None, 1, None]]])
async def test_labels_without_numbers_are_garbage(fake_server, connect_sglang, entry):
    runtime = await connect_sglang(fake_server)
    fake_server.spoil = spoil_meta(output_token_ids_logprobs=[entry])
    with pytest.raises(RuntimeGarbage):
        await runtime.run([MIXED[1]], timeout=5)


async def test_nobody_listens():
    runtime = SGLangRuntime("http://127.0.0.1:1", model=MODEL)
    with pytest.raises(RuntimeUnavailable):
        await runtime.run(MIXED, timeout=5)
    await runtime.close()


@pytest.mark.parametrize("url", ["127.0.0.1:30000", "ftp://127.0.0.1"])
async def test_a_url_that_is_none(url):
    runtime = SGLangRuntime(url)
    with pytest.raises(RuntimeMisconfigured):
        await runtime.start()
    await runtime.close()


async def test_the_server_dies_in_the_middle(fake_server, connect_sglang, eventually):
    runtime = await connect_sglang(fake_server)
    fake_server.hang = lambda body: True
    running = asyncio.create_task(runtime.run(MIXED, timeout=20))
    await eventually(lambda: fake_server.generated)
    await fake_server.__aexit__()
    with pytest.raises(RuntimeUnavailable):
        await running


async def test_at_the_timeout_every_prompt_is_aborted(fake_server, connect_sglang, eventually):
    # Given a server that never answers
    runtime = await connect_sglang(fake_server)
    await runtime.run(MIXED, timeout=5)  # the texts are tokenized
    fake_server.hang = lambda body: True
    # When the time is over
    with pytest.raises(RuntimeTimeout):
        await runtime.run(MIXED, timeout=0.5)
    # Then each prompt of the request is aborted by its name, and the connection is closed
    rid = fake_server.generated[-1]["rid"]
    await eventually(lambda: len(fake_server.aborted) == len(MIXED))
    assert sorted(fake_server.aborted) == [f"{rid}_{at}" for at in range(len(MIXED))]
    await eventually(lambda: fake_server.left == 1)
    # And the runtime goes on
    fake_server.hang = lambda body: False
    check_mixed(await runtime.run(MIXED, timeout=5))


async def test_a_cancelled_caller_aborts_too(fake_server, connect_sglang, eventually):
    runtime = await connect_sglang(fake_server)
    fake_server.hang = lambda body: True
    running = asyncio.create_task(runtime.run(MIXED, timeout=60))
    await eventually(lambda: fake_server.generated)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await eventually(lambda: len(fake_server.aborted) == len(MIXED))


async def test_a_fault_of_one_request_ends_the_others(connect_sglang, eventually):
    # Given a router to which a batch goes as several requests, where one fails and the others hang
    async with FakeSGLang(router=True) as fake:
        runtime = await connect_sglang(fake)
        fake.hang = lambda body: body["extra_key"] == "ann"
        fake.spoil, fake.answer_from = (lambda answers: 500), len(MIXED)
        # When the batch is run, then the fault comes at once and nobody waits for the others
        with pytest.raises(RuntimeUnavailable):
            await runtime.run(MIXED, timeout=60)
        await eventually(lambda: fake.left == sum(call.namespace == "ann" for call in MIXED))


async def test_a_router_that_cannot_abort_is_left_by_closing_the_connection(connect_sglang, eventually):
    async with FakeSGLang(router=True) as fake:
        runtime = await connect_sglang(fake)
        fake.hang = lambda body: True
        with pytest.raises(RuntimeTimeout):
            await runtime.run(MIXED, timeout=0.5)
        await eventually(lambda: fake.left == len(MIXED))


async def test_the_time_may_be_over_already(fake_server, connect_sglang):
    runtime = await connect_sglang(fake_server)
    with pytest.raises(RuntimeTimeout):
        await runtime.run(MIXED, timeout=0)


async def test_no_prompt_in_the_log_or_in_a_repr(fake_server, connect_sglang, caplog):
    caplog.set_level("DEBUG")
    runtime = await connect_sglang(fake_server)
    await runtime.run([Call((SECRET,), "def", Likelihood())], timeout=5)
    fake_server.spoil = lambda _: 400
    with pytest.raises(RuntimeFault):
        await runtime.run([Call((SECRET,), "def", Likelihood())], timeout=5)
    assert "/generate" in caplog.text
    assert SECRET not in caplog.text
    assert SECRET not in repr(runtime) + repr(vars(runtime))
