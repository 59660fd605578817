"""The SGLang runtime against a real server: does SGLang do what the fake one says it does?

The model has 135M parameters: it shows plumbing, not quality.
"""

import asyncio
import json
import uuid

import httpx
import pytest

from memsift_workers.runtimes.base import (
    Call,
    Json,
    Labels,
    Likelihood,
    RuntimeMisconfigured,
    RuntimeTimeout,
)
from memsift_workers.runtimes.sglang import SGLangRuntime

pytestmark = [
    pytest.mark.sglang,
    # The first test also waits for the installation, if there is none yet, and for the start.
    pytest.mark.timeout(900),
]

# It runs in bfloat16, so a token's log-probability depends on what else is in the batch: by 0.21 at most over
# 30 prompts, and by 0.12 with --enable-fp32-lm-head, which doubles the time of a step on a CPU.
TOLERANCE = 0.3
SECONDS = 60.0
ASK = "\nA question that this memory answers:"
MEMORIES = (
    "Memory: The user has two dogs. The dogs are called Rex and Bo." + ASK,
    "Memory: The user flies to Lisbon on Friday to see their sister." + ASK,
    "Memory: The user is allergic to peanuts and carries a syringe." + ASK,
)
QUESTIONS = (
    " What are the user's dogs called?",
    " When does the user fly to Lisbon?",
    " What is the user allergic to?",
)
SCHEMA = {
    "type": "object",
    "properties": {
        "ranking": {"type": "array", "items": {"enum": ["m1", "m2"]}, "minItems": 2, "maxItems": 2}
    },
    "required": ["ranking"],
    "additionalProperties": False,
}


@pytest.fixture
async def runtime(sglang_server):
    runtime = SGLangRuntime(sglang_server)
    await runtime.start()
    yield runtime
    await runtime.close()


@pytest.fixture
def user():
    """A namespace in which nothing is cached yet."""
    return uuid.uuid4().hex


def likelihoods(question, user):
    return [Call((memory,), question, Likelihood(), user) for memory in MEMORIES]


async def test_start_tells_the_model(runtime):
    assert runtime.model == "SmolLM2-135M-Instruct"


async def test_a_question_is_likeliest_after_the_memory_that_answers_it(runtime, user):
    for at, question in enumerate(QUESTIONS):
        answers = await runtime.run(likelihoods(question, user), timeout=SECONDS)
        scores = [sum(answer.logprobs) for answer in answers]
        assert scores.index(max(scores)) == at


async def test_one_logprob_per_suffix_token(runtime, user):
    answers = await runtime.run(
        [
            Call((MEMORIES[0],), suffix, Likelihood(), user)
            for suffix in (" dogs", " dogs dogs", " dogs dogs dogs")
        ],
        timeout=SECONDS,
    )
    assert [len(answer.logprobs) for answer in answers] == [1, 2, 3]
    # The first token's is the same, whatever follows.
    assert answers[2].logprobs[0] == pytest.approx(answers[0].logprobs[0], abs=TOLERANCE)
    assert all(answer.output_tokens == 0 for answer in answers)


async def test_a_batch_answers_like_one_call_at_a_time(runtime, user):
    calls = [
        *likelihoods(QUESTIONS[0], user),
        Call((MEMORIES[0],), " Is it about dogs? Answer:", Labels((" yes", " no")), user),
        *likelihoods(QUESTIONS[1], ""),
    ]
    together = await runtime.run(calls, timeout=SECONDS)
    one_by_one = [(await runtime.run([call], timeout=SECONDS))[0] for call in calls]
    for in_batch, alone in zip(together, one_by_one, strict=True):
        assert in_batch.logprobs == pytest.approx(alone.logprobs, abs=TOLERANCE)
        assert in_batch.prompt_tokens == alone.prompt_tokens


async def test_a_shared_prefix_comes_from_the_cache(runtime, user):
    first = await runtime.run(likelihoods(QUESTIONS[0], user), timeout=SECONDS)
    second = await runtime.run(likelihoods(QUESTIONS[1], user), timeout=SECONDS)
    for before, after in zip(first, second, strict=True):
        # All but the prefix's last token, from which the first log-probability is read.
        assert after.cached_tokens == after.prompt_tokens - len(after.logprobs) - 1
        assert after.cached_tokens > before.cached_tokens


async def test_a_label_prompt_comes_from_the_cache_too(runtime, user):
    calls = [Call((MEMORIES[0],), " Is it about dogs? Answer:", Labels((" yes", " no")), user)]
    cold, warm = [(await runtime.run(calls, timeout=SECONDS))[0] for _ in range(2)]
    assert cold.cached_tokens == 0
    assert warm.cached_tokens == warm.prompt_tokens - 1
    assert warm.logprobs == pytest.approx(cold.logprobs, abs=TOLERANCE)


async def test_namespaces_share_nothing(runtime, user):
    await runtime.run(likelihoods(QUESTIONS[0], user), timeout=SECONDS)
    # When another user, and nobody in particular, send the same prompts in one batch with the first user's
    others = [uuid.uuid4().hex, uuid.uuid4().hex, user]
    answers = await runtime.run(
        [Call((MEMORIES[0],), QUESTIONS[0], Likelihood(), one) for one in others], timeout=SECONDS
    )
    # Then only the first user's prompt is served from the cache
    assert [answer.cached_tokens > 0 for answer in answers] == [False, False, True]


async def test_labels(runtime, user):
    assert await runtime.usable_labels((" yes", " supercalifragilistic", " no")) == (" yes", " no")
    orders = ((" yes", " no"), (" no", " yes"))
    calls = [Call(("",), "Is water wet? Answer:", Labels(labels), user) for labels in orders]
    one, other = await runtime.run(calls, timeout=SECONDS)
    assert one.logprobs == pytest.approx(other.logprobs[::-1], abs=TOLERANCE)
    assert all(number < 0 for number in one.logprobs)
    assert one.output_tokens == 1


async def test_json_follows_the_schema(runtime, user):
    call = Call((MEMORIES[0],), " Ranking as JSON:", Json(SCHEMA, max_tokens=64), user)
    (first,) = await runtime.run([call], timeout=SECONDS)
    assert set(json.loads(first.text)) == {"ranking"}
    assert set(json.loads(first.text)["ranking"]) <= {"m1", "m2"}
    assert 0 < first.output_tokens <= 64
    # Greedy: the same again
    (again,) = await runtime.run([call], timeout=SECONDS)
    assert again.text == first.text


# A prompt that would decode for minutes.
ENDLESS = Json({"type": "array", "items": {"type": "string"}, "minItems": 1000}, max_tokens=6000)


async def test_what_is_aborted_ends_in_the_server(runtime, sglang_server, user):
    """Given requests that it works on, when their callers go away, then it works on none of them any more."""
    calls = [Call((memory,), " A list:", ENDLESS, user) for memory in MEMORIES]
    asked = [asyncio.create_task(runtime.run([call], timeout=SECONDS)) for call in calls]
    async with asyncio.timeout(SECONDS / 2):
        while await running_requests(sglang_server) < len(calls):
            await asyncio.sleep(0.05)
    for one in asked:
        one.cancel()
    await asyncio.wait(asked)
    async with asyncio.timeout(SECONDS / 2):
        while await running_requests(sglang_server):
            await asyncio.sleep(0.05)
    # And not because they were done
    assert all(one.cancelled() for one in asked)


async def test_the_work_of_a_timeout_is_dropped(runtime, sglang_server, user):
    with pytest.raises(RuntimeTimeout):
        await runtime.run([Call((MEMORIES[0],), " A list:", ENDLESS, user)], timeout=0.5)
    # Then the server is free for others
    await runtime.run(likelihoods(QUESTIONS[0], user), timeout=SECONDS)
    # And the time limit of a batch that is already late leaves it usable as well
    with pytest.raises(RuntimeTimeout):
        await runtime.run(likelihoods(QUESTIONS[1], uuid.uuid4().hex), timeout=0.001)
    assert len(await runtime.run(likelihoods(QUESTIONS[2], user), timeout=SECONDS)) == len(MEMORIES)
    async with asyncio.timeout(SECONDS):
        while await running_requests(sglang_server):
            await asyncio.sleep(0.1)


async def running_requests(url):
    """How many requests the server itself says it works on."""
    async with httpx.AsyncClient() as client:
        loads = (await client.get(f"{url}/v1/loads")).json()["loads"]
    return sum(load["num_running_reqs"] + load["num_waiting_reqs"] for load in loads)


async def test_a_prompt_that_is_too_long_can_never_be_answered(runtime, user):
    with pytest.raises(RuntimeMisconfigured):
        await runtime.run([Call(("word " * 10_000,), "end", Likelihood(), user)], timeout=SECONDS)
    assert len(await runtime.run(likelihoods(QUESTIONS[0], user), timeout=SECONDS)) == len(MEMORIES)
