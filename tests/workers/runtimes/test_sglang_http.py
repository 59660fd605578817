"""The SGLang runtime against a fake server: what it learns at start, what it sends and what it reads."""

import asyncio
import json

import pytest

from memsift_workers.egress import EgressRefused
from memsift_workers.runtimes.base import (
    Call,
    Labels,
    Likelihood,
    Runtime,
    RuntimeFault,
    RuntimeMisconfigured,
    RuntimeUnavailable,
)
from memsift_workers.runtimes.sglang import SGLangRuntime
from tests.workers.runtimes.fake_sglang import (
    BOS,
    MIXED,
    MODEL,
    SCHEMA,
    FakeSGLang,
    check_mixed,
    tokenize,
)


async def test_start_learns_the_model_and_closing_twice_is_fine(fake_server, connect_sglang):
    runtime = await connect_sglang(fake_server)
    assert isinstance(runtime, Runtime)
    assert (runtime.name, runtime.model) == ("sglang", MODEL)
    await runtime.close()
    await runtime.close()


async def test_start_waits_for_a_server_that_is_loading(fake_server):
    # Given a server that is not healthy yet, and a router that has no worker yet
    fake_server.ready, fake_server.models = False, []
    runtime = SGLangRuntime(fake_server.url)
    starting = asyncio.create_task(runtime.start())
    await asyncio.sleep(0.2)
    assert not starting.done()
    # When it becomes ready
    fake_server.ready, fake_server.models = True, [{"id": MODEL}]
    # Then start returns
    async with asyncio.timeout(10):
        await starting
    await runtime.close()


async def test_start_gives_up_in_time(fake_server):
    fake_server.ready = False
    runtime = SGLangRuntime(fake_server.url, start_timeout=0.3)
    with pytest.raises(RuntimeUnavailable):
        await runtime.start()
    await runtime.close()


@pytest.mark.parametrize("models", [["other"], ["one", "two"]])
async def test_start_refuses_another_or_no_certain_model(fake_server, models):
    fake_server.models = [{"id": name} for name in models]
    runtime = SGLangRuntime(fake_server.url, model="wanted" if len(models) == 1 else None)
    with pytest.raises(RuntimeMisconfigured, match=models[0]):
        await runtime.start()
    await runtime.close()


async def test_a_lora_adapter_is_no_second_model(fake_server, connect_sglang):
    fake_server.models += [{"id": "adapter", "parent": MODEL}]
    assert (await connect_sglang(fake_server)).model == MODEL


async def test_a_mixed_batch_is_one_request(fake_server, connect_sglang):
    runtime = await connect_sglang(fake_server)
    # When a batch mixes wishes and namespaces
    answers = await runtime.run(MIXED, timeout=5)
    # Then it is one request, with one value per prompt
    (request,) = fake_server.generated
    assert request["extra_key"] == ["ann", "bob", "ann", "ann"]
    assert request["logprob_start_len"] == [1, -1, -1, 2]
    assert [one["temperature"] for one in request["sampling_params"]] == [0.0] * 4
    assert json.loads(request["sampling_params"][2]["json_schema"]) == SCHEMA
    # And the answers are in order
    check_mixed(answers)


async def test_the_border_between_prefix_and_suffix_is_a_token_border(fake_server, connect_sglang):
    runtime = await connect_sglang(fake_server)
    assert tokenize("abcdef") != tokenize("abc") + tokenize("def")
    await runtime.run([Call(("abc",), "def", Likelihood())], timeout=5)
    assert fake_server.generated[0]["input_ids"] == [tokenize("abc") + tokenize("def")]


@pytest.mark.parametrize("tokenizes", [True, False])
async def test_one_bos_before_the_prefix_and_none_in_the_middle(connect_sglang, tokenizes):
    async with FakeSGLang(bos=True, tokenizes=tokenizes) as fake:
        runtime = await connect_sglang(fake)
        calls = [Call(("abc",), "def", Likelihood()), Call(("",), "def", Likelihood())]
        answers = await runtime.run(calls, timeout=5)
        sent = fake.generated[-1]["input_ids"]
        assert sent == [[BOS, *tokenize("abc"), *tokenize("def")], [BOS, *tokenize("def")]]
        assert [len(answer.logprobs) for answer in answers] == [2, 2]


async def test_the_first_token_of_all_has_no_likelihood(fake_server, connect_sglang):
    runtime = await connect_sglang(fake_server)
    with pytest.raises(RuntimeMisconfigured, match="prefix"):
        await runtime.run([Call(("",), "def", Likelihood())], timeout=5)


async def test_a_text_is_tokenized_once(fake_server, connect_sglang):
    runtime = await connect_sglang(fake_server)
    await runtime.run(MIXED, timeout=5)
    assert sorted(fake_server.tokenized) == sorted(
        {"abc", "abcde", "long prefix", "def", "xy", "go", "Y", "N"}
    )
    fake_server.tokenized.clear()
    await runtime.run([Call(("abc",), "new", Likelihood(), "eve")], timeout=5)
    assert fake_server.tokenized == ["new"]


async def test_cached_tokens_are_those_of_the_own_namespace(fake_server, connect_sglang):
    runtime = await connect_sglang(fake_server)
    cached = []
    for question, user in (("first", "ann"), ("second", "ann"), ("third", "bob")):
        (answer,) = await runtime.run([Call(("a long prefix",), question, Likelihood(), user)], timeout=5)
        cached.append(answer.cached_tokens)
    # The prefix's last token is computed again, because the first log-probability is read from it.
    assert cached == [0, len(tokenize("a long prefix")) - 1, 0]


@pytest.mark.parametrize("tokenizes", [True, False])
async def test_a_router_gets_one_request_per_setting(connect_sglang, tokenizes):
    async with FakeSGLang(router=True, tokenizes=tokenizes) as fake:
        runtime = await connect_sglang(fake)
        answers = await runtime.run([*MIXED, MIXED[0]], timeout=5)
        check_mixed(answers[:4])
        assert answers[4].logprobs == answers[0].logprobs
        # Two likelihoods have the same namespace and start, so they share a request.
        requests = [request for request in fake.generated if "input_ids" in request]
        assert sorted(len(request["input_ids"]) for request in requests) == [1, 1, 1, 2]
        assert sorted(request["extra_key"] for request in requests) == ["ann", "ann", "ann", "bob"]


async def test_labels_are_checked(fake_server, connect_sglang):
    runtime = await connect_sglang(fake_server)
    assert await runtime.usable_labels(("Y", "maybe", "N", "Y")) == ("Y", "N")
    with pytest.raises(RuntimeMisconfigured, match="maybe"):
        await runtime.run([Call(("abc",), "def", Labels(("maybe",)))], timeout=5)


async def test_no_calls_no_request(fake_server, connect_sglang):
    runtime = await connect_sglang(fake_server)
    assert await runtime.run([], timeout=5) == []
    assert fake_server.generated == []


async def test_generated_text_is_passed_on_unjudged(fake_server, connect_sglang):
    runtime = await connect_sglang(fake_server)

    def cut(answers):
        answers[0]["text"] = '{"ranking": ["m1"'
        return json.dumps(answers).encode()

    fake_server.spoil = cut
    (answer,) = await runtime.run([MIXED[2]], timeout=5)
    assert answer.text == '{"ranking": ["m1"'


async def test_the_api_key_goes_along(fake_server, connect_sglang):
    await connect_sglang(fake_server, api_key="s3cret")
    assert all("authorization: bearer s3cret" in head.lower() for head in fake_server.headers)


async def test_a_proxy_of_the_environment_never_sees_a_prompt(fake_server, connect_sglang, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    check_mixed(await (await connect_sglang(fake_server)).run(MIXED, timeout=5))


async def test_a_server_at_a_public_address_is_refused_unless_allowed():
    runtime = SGLangRuntime("http://8.8.8.8:30000", start_timeout=0.1)
    with pytest.raises(EgressRefused, match="MEMSIFT_ALLOW_EGRESS=1"):
        await runtime.start()
    await runtime.close()


async def test_whether_it_is_there_costs_the_model_nothing(fake_server, connect_sglang):
    runtime = await connect_sglang(fake_server)
    await runtime.reach()
    assert fake_server.generated == []
    # Given another model than before, or none
    fake_server.models = [{"id": "another"}]
    with pytest.raises(RuntimeUnavailable):
        await runtime.reach()


async def test_a_server_that_has_gone_is_not_there(connect_sglang):
    async with FakeSGLang() as fake:
        runtime = await connect_sglang(fake)
    with pytest.raises(RuntimeFault):
        await runtime.reach()
