"""The SGLang runtime against a fake server: what it sends, what it makes of answers and of their lack."""

import asyncio
import json
import traceback

import pytest

from memsift_workers.runtimes.base import (
    Call,
    Json,
    Labels,
    Likelihood,
    Runtime,
    RuntimeFault,
    RuntimeGarbage,
    RuntimeMisconfigured,
    RuntimeTimeout,
    RuntimeUnavailable,
)
from memsift_workers.runtimes.sglang import SGLangRuntime
from tests.workers.runtimes.fake_sglang import BOS, MODEL, FakeSGLang, logprob, tokenize

SECRET = "the user's secret"
SCHEMA = {"type": "object"}
MIXED = [
    Call("abc", "def", Likelihood(), "ann"),
    Call("abc", "xy", Labels(("Y", "N")), "bob"),
    Call("long prefix", "go", Json(SCHEMA, max_tokens=7), "ann"),
    Call("abcde", "def", Likelihood(), "ann"),
]


@pytest.fixture
async def server():
    async with FakeSGLang() as fake:
        yield fake


@pytest.fixture
async def connect():
    """Make a started runtime; all are closed at the end."""
    runtimes = []

    async def make(fake, **options):
        runtime = SGLangRuntime(fake.url, **options)
        runtimes.append(runtime)
        await runtime.start()
        fake.generated.clear()
        fake.tokenized.clear()
        return runtime

    yield make
    for runtime in runtimes:
        await runtime.close()


async def test_start_learns_the_model_and_closing_twice_is_fine(server, connect):
    runtime = await connect(server)
    assert isinstance(runtime, Runtime)
    assert (runtime.name, runtime.model) == ("sglang", MODEL)
    await runtime.close()
    await runtime.close()


async def test_start_waits_for_a_server_that_is_loading(server):
    # Given a server that is not healthy yet, and a router that has no worker yet
    server.ready, server.models = False, []
    runtime = SGLangRuntime(server.url)
    starting = asyncio.create_task(runtime.start())
    await asyncio.sleep(0.2)
    assert not starting.done()
    # When it becomes ready
    server.ready, server.models = True, [{"id": MODEL}]
    # Then start returns
    async with asyncio.timeout(10):
        await starting
    await runtime.close()


async def test_start_gives_up_in_time(server):
    server.ready = False
    runtime = SGLangRuntime(server.url, start_timeout=0.3)
    with pytest.raises(RuntimeUnavailable):
        await runtime.start()
    await runtime.close()


@pytest.mark.parametrize("models", [["other"], ["one", "two"]])
async def test_start_refuses_another_or_no_certain_model(server, models):
    server.models = [{"id": name} for name in models]
    runtime = SGLangRuntime(server.url, model="wanted" if len(models) == 1 else None)
    with pytest.raises(RuntimeMisconfigured, match=models[0]):
        await runtime.start()
    await runtime.close()


async def test_a_lora_adapter_is_no_second_model(server, connect):
    server.models += [{"id": "adapter", "parent": MODEL}]
    assert (await connect(server)).model == MODEL


async def test_a_mixed_batch_is_one_request(server, connect):
    runtime = await connect(server)
    # When a batch mixes wishes and namespaces
    answers = await runtime.run(MIXED, timeout=5)
    # Then it is one request, with one value per prompt
    (request,) = server.generated
    assert request["extra_key"] == ["ann", "bob", "ann", "ann"]
    assert request["logprob_start_len"] == [1, -1, -1, 2]
    assert [one["temperature"] for one in request["sampling_params"]] == [0.0] * 4
    assert json.loads(request["sampling_params"][2]["json_schema"]) == SCHEMA
    # And the answers are in order
    check_mixed(answers)


def check_mixed(answers):
    assert answers[0].logprobs == tuple(logprob(one) for one in tokenize("def"))
    assert answers[1].logprobs == (logprob(tokenize("Y")[0]), logprob(tokenize("N")[0]))
    assert json.loads(answers[2].text) == {"schema_of": len(json.dumps(SCHEMA, separators=(",", ":")))}
    assert answers[3].logprobs == answers[0].logprobs
    assert [answer.output_tokens for answer in answers] == [0, 1, 7, 0]
    assert [answer.prompt_tokens for answer in answers] == [4, 3, 7, 5]


async def test_the_border_between_prefix_and_suffix_is_a_token_border(server, connect):
    runtime = await connect(server)
    assert tokenize("abcdef") != tokenize("abc") + tokenize("def")
    await runtime.run([Call("abc", "def", Likelihood())], timeout=5)
    assert server.generated[0]["input_ids"] == [tokenize("abc") + tokenize("def")]


@pytest.mark.parametrize("tokenizes", [True, False])
async def test_one_bos_before_the_prefix_and_none_in_the_middle(connect, tokenizes):
    async with FakeSGLang(bos=True, tokenizes=tokenizes) as fake:
        runtime = await connect(fake)
        calls = [Call("abc", "def", Likelihood()), Call("", "def", Likelihood())]
        answers = await runtime.run(calls, timeout=5)
        sent = fake.generated[-1]["input_ids"]
        assert sent == [[BOS, *tokenize("abc"), *tokenize("def")], [BOS, *tokenize("def")]]
        assert [len(answer.logprobs) for answer in answers] == [2, 2]


async def test_the_first_token_of_all_has_no_likelihood(server, connect):
    runtime = await connect(server)
    with pytest.raises(RuntimeMisconfigured, match="prefix"):
        await runtime.run([Call("", "def", Likelihood())], timeout=5)


async def test_a_text_is_tokenized_once(server, connect):
    runtime = await connect(server)
    await runtime.run(MIXED, timeout=5)
    assert sorted(server.tokenized) == sorted({"abc", "abcde", "long prefix", "def", "xy", "go", "Y", "N"})
    server.tokenized.clear()
    await runtime.run([Call("abc", "new", Likelihood(), "eve")], timeout=5)
    assert server.tokenized == ["new"]


async def test_cached_tokens_are_those_of_the_own_namespace(server, connect):
    runtime = await connect(server)
    cached = []
    for question, user in (("first", "ann"), ("second", "ann"), ("third", "bob")):
        (answer,) = await runtime.run([Call("a long prefix", question, Likelihood(), user)], timeout=5)
        cached.append(answer.cached_tokens)
    # The prefix's last token is computed again, because the first log-probability is read from it.
    assert cached == [0, len(tokenize("a long prefix")) - 1, 0]


@pytest.mark.parametrize("tokenizes", [True, False])
async def test_a_router_gets_one_request_per_setting(connect, tokenizes):
    async with FakeSGLang(router=True, tokenizes=tokenizes) as fake:
        runtime = await connect(fake)
        answers = await runtime.run([*MIXED, MIXED[0]], timeout=5)
        check_mixed(answers[:4])
        assert answers[4].logprobs == answers[0].logprobs
        # Two likelihoods have the same namespace and start, so they share a request.
        requests = [request for request in fake.generated if "input_ids" in request]
        assert sorted(len(request["input_ids"]) for request in requests) == [1, 1, 1, 2]
        assert sorted(request["extra_key"] for request in requests) == ["ann", "ann", "ann", "bob"]


async def test_labels_are_checked(server, connect):
    runtime = await connect(server)
    await runtime.check_labels(("Y", "N"))
    with pytest.raises(RuntimeMisconfigured, match="maybe"):
        await runtime.check_labels(("Y", "maybe"))
    with pytest.raises(RuntimeMisconfigured):
        await runtime.check_labels(("Y", "Y"))
    with pytest.raises(RuntimeMisconfigured, match="maybe"):
        await runtime.run([Call("abc", "def", Labels(("maybe",)))], timeout=5)


async def test_no_calls_no_request(server, connect):
    runtime = await connect(server)
    assert await runtime.run([], timeout=5) == []
    assert server.generated == []


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
async def test_a_bad_answer_is_the_right_fault_and_names_no_prompt(server, connect, spoil, fault):
    runtime = await connect(server)
    server.spoil = spoil
    with pytest.raises(fault) as caught:
        await runtime.run([Call(SECRET, "def", Likelihood()), MIXED[1]], timeout=5)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    # And the next batch is answered again
    server.spoil = None
    check_mixed(await runtime.run(MIXED, timeout=5))


@pytest.mark.parametrize("entry", [None, [], [[None, 1, None]]])
async def test_labels_without_numbers_are_garbage(server, connect, entry):
    runtime = await connect(server)
    server.spoil = spoil_meta(output_token_ids_logprobs=[entry])
    with pytest.raises(RuntimeGarbage):
        await runtime.run([MIXED[1]], timeout=5)


async def test_generated_text_is_passed_on_unjudged(server, connect):
    runtime = await connect(server)

    def cut(answers):
        answers[0]["text"] = '{"ranking": ["m1"'
        return json.dumps(answers).encode()

    server.spoil = cut
    (answer,) = await runtime.run([MIXED[2]], timeout=5)
    assert answer.text == '{"ranking": ["m1"'


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


async def test_the_server_dies_in_the_middle(server, connect, eventually):
    runtime = await connect(server)
    server.hang = lambda body: True
    running = asyncio.create_task(runtime.run(MIXED, timeout=20))
    await eventually(lambda: server.generated)
    await server.__aexit__()
    with pytest.raises(RuntimeUnavailable):
        await running


async def test_at_the_timeout_every_prompt_is_aborted(server, connect, eventually):
    # Given a server that never answers
    runtime = await connect(server)
    await runtime.run(MIXED, timeout=5)  # the texts are tokenized
    server.hang = lambda body: True
    # When the time is over
    with pytest.raises(RuntimeTimeout):
        await runtime.run(MIXED, timeout=0.2)
    # Then each prompt of the request is aborted by its name, and the connection is closed
    rid = server.generated[-1]["rid"]
    await eventually(lambda: len(server.aborted) == len(MIXED))
    assert sorted(server.aborted) == [f"{rid}_{at}" for at in range(len(MIXED))]
    await eventually(lambda: server.left == 1)
    # And the runtime goes on
    server.hang = lambda body: False
    check_mixed(await runtime.run(MIXED, timeout=5))


async def test_a_cancelled_caller_aborts_too(server, connect, eventually):
    runtime = await connect(server)
    server.hang = lambda body: True
    running = asyncio.create_task(runtime.run(MIXED, timeout=60))
    await eventually(lambda: server.generated)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await eventually(lambda: len(server.aborted) == len(MIXED))


async def test_a_fault_of_one_request_ends_the_others(connect, eventually):
    # Given a router to which a batch goes as several requests, where one fails and the others hang
    async with FakeSGLang(router=True) as fake:
        runtime = await connect(fake)
        fake.hang = lambda body: body["extra_key"] == "ann"
        fake.spoil = lambda answers: 500
        # When the batch is run, then the fault comes at once and nobody waits for the others
        with pytest.raises(RuntimeUnavailable):
            await runtime.run(MIXED, timeout=60)
        await eventually(lambda: fake.left == sum(call.namespace == "ann" for call in MIXED))


async def test_a_router_that_cannot_abort_is_left_by_closing_the_connection(connect, eventually):
    async with FakeSGLang(router=True) as fake:
        runtime = await connect(fake)
        fake.hang = lambda body: True
        with pytest.raises(RuntimeTimeout):
            await runtime.run(MIXED, timeout=0.2)
        await eventually(lambda: fake.left == len(MIXED))


async def test_the_time_may_be_over_already(server, connect):
    runtime = await connect(server)
    with pytest.raises(RuntimeTimeout):
        await runtime.run(MIXED, timeout=0)


async def test_the_api_key_goes_along(server, connect):
    await connect(server, api_key="s3cret")
    assert all("authorization: bearer s3cret" in head.lower() for head in server.headers)


async def test_a_proxy_of_the_environment_never_sees_a_prompt(server, connect, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    check_mixed(await (await connect(server)).run(MIXED, timeout=5))


async def test_no_prompt_in_the_log_or_in_a_repr(server, connect, caplog):
    caplog.set_level("DEBUG")
    runtime = await connect(server)
    await runtime.run([Call(SECRET, "def", Likelihood())], timeout=5)
    server.spoil = lambda _: 400
    with pytest.raises(RuntimeFault):
        await runtime.run([Call(SECRET, "def", Likelihood())], timeout=5)
    assert "/generate" in caplog.text
    assert SECRET not in caplog.text
    assert SECRET not in repr(runtime) + repr(vars(runtime))
