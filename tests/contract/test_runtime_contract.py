"""What every runtime promises, whatever is behind it."""

import asyncio
import math
import uuid

import orjson
import pytest

from memsift_workers.runtimes.base import (
    Call,
    Json,
    Labels,
    Likelihood,
    Runtime,
    RuntimeTimeout,
)
from tests.contract.subjects import SUBJECTS, runtime

__all__ = ["runtime"]

pytestmark = pytest.mark.parametrize("runtime", SUBJECTS, indirect=True)

DOGS = "Memory: The two dogs are called Rex and Bo and they sleep in the kitchen beside the old stove."
TAXES = "Memory: The tax return for the flat in the north of the town was sent in on the last day of May."
ASKS = "\nA question that this memory answers:"
QUESTION = " What are the dogs called?"
SCHEMA = {
    "type": "object",
    "properties": {
        "ranking": {"type": "array", "items": {"enum": ["m1", "m2"]}, "minItems": 1, "maxItems": 2}
    },
    "required": ["ranking"],
    "additionalProperties": False,
}


def likelihood(memory, question=QUESTION, namespace="u"):
    return Call((f"{memory}{ASKS}",), question, Likelihood(), namespace)


def total(answer):
    return sum(answer.logprobs)


async def test_it_is_a_runtime_with_a_name_and_a_model(runtime):
    assert isinstance(runtime, Runtime)
    assert runtime.name
    assert runtime.model


async def test_nothing_asked_is_nothing_answered(runtime):
    assert await runtime.run([], timeout=5) == []


async def test_answers_come_in_the_order_of_the_calls_and_tell_memories_apart(runtime):
    dogs, taxes, again = await runtime.run(
        [likelihood(DOGS), likelihood(TAXES), likelihood(DOGS)], timeout=60
    )
    assert total(dogs) > total(taxes)
    assert total(again) == pytest.approx(total(dogs), abs=0.2)


async def test_every_suffix_token_has_one_finite_logprob_not_above_0(runtime):
    (short,) = await runtime.run([likelihood(DOGS, " What?")], timeout=60)
    (longer,) = await runtime.run([likelihood(DOGS, " What are the two dogs called?")], timeout=60)
    assert len(longer.logprobs) > len(short.logprobs) >= 1
    assert all(math.isfinite(one) and one <= 1e-6 for one in longer.logprobs + short.logprobs)


async def test_equal_calls_tie(runtime):
    first, second = await runtime.run([likelihood(TAXES), likelihood(TAXES)], timeout=60)
    assert total(first) == pytest.approx(total(second), abs=0.05)


async def test_a_batch_gives_what_one_by_one_gives(runtime):
    calls = [likelihood(f"{DOGS} Note {at}.") for at in range(6)]
    batch = await runtime.run(calls, timeout=60)
    alone = [(await runtime.run([call], timeout=60))[0] for call in calls]
    for one, other in zip(batch, alone, strict=True):
        assert len(one.logprobs) == len(other.logprobs)
        assert total(one) == pytest.approx(total(other), abs=0.3)


async def test_the_same_question_twice_has_all_its_logprobs_and_the_same_score(runtime):
    memory = f"{DOGS} Their number is {uuid.uuid4().int % 10_000}."
    (first,) = await runtime.run([likelihood(memory)], timeout=60)
    (second,) = await runtime.run([likelihood(memory)], timeout=60)
    (third,) = await runtime.run([likelihood(memory, f"{QUESTION} And where do they sleep?")], timeout=60)
    assert len(first.logprobs) == len(second.logprobs) < len(third.logprobs)
    assert total(second) == pytest.approx(total(first), abs=0.2)
    assert third.logprobs[: len(first.logprobs)] == pytest.approx(first.logprobs, abs=0.2)


async def test_cached_tokens_grow_on_a_shared_prefix(runtime):
    memory = f"Memory: {uuid.uuid4()} is the number of the ticket. {DOGS * 4}"
    (cold,) = await runtime.run([likelihood(memory, " What is the number?")], timeout=60)
    (warm,) = await runtime.run([likelihood(memory, " Whose are the dogs?")], timeout=60)
    assert warm.cached_tokens > cold.cached_tokens
    assert warm.cached_tokens > warm.prompt_tokens / 2
    assert warm.prompt_tokens > warm.cached_tokens


async def test_labels_have_one_logprob_each(runtime):
    call = Call((f"{DOGS}\n",), "Are there dogs? Answer yes or no:", Labels((" yes", " no", " maybe")), "u")
    first, second = await runtime.run([call, call], timeout=60)
    assert len(first.logprobs) == 3
    assert all(math.isfinite(one) and one <= 1e-6 for one in first.logprobs)
    assert first.logprobs == pytest.approx(second.logprobs, abs=0.1)


async def test_json_follows_the_schema(runtime):
    call = Call((f"m1: {DOGS}\nm2: {TAXES}\n",), "Ranking as JSON:", Json(SCHEMA, max_tokens=60), "u")
    (answer,) = await runtime.run([call], timeout=60)
    assert set(orjson.loads(answer.text)["ranking"]) <= {"m1", "m2"}
    assert answer.output_tokens > 0


async def test_wishes_may_be_mixed_in_a_batch(runtime):
    calls = [
        likelihood(DOGS),
        Call((f"{DOGS}\n",), "Are there dogs?", Labels((" yes", " no")), "u"),
        Call((f"m1: {DOGS}\nm2: {TAXES}\n",), "Ranking as JSON:", Json(SCHEMA, max_tokens=60), "u"),
        likelihood(TAXES),
    ]
    dogs, labels, json, taxes = await runtime.run(calls, timeout=60)
    assert total(dogs) > total(taxes)
    assert len(labels.logprobs) == 2
    assert json.text


async def test_labels_that_are_one_token_each_can_be_used(runtime):
    assert await runtime.usable_labels(("A", "two words", "B", "")) == ("A", "B")
    # The same token twice could not tell two memories apart.
    assert await runtime.usable_labels(("A", "A")) == ("A",)


async def test_the_pieces_of_a_prefix_are_tokens_of_their_own(runtime):
    # Given two prompts that begin with the same pieces and go on differently, in a word and in its middle
    user = uuid.uuid4().hex
    lines = [f"A: {DOGS}\n", "B: The cellar key hangs beside the stair", "s of the old house.\n"]
    first, later = (
        Call(tuple(lines[:2]), ASKS, Labels(("A", "B")), user),
        Call(tuple(lines), ASKS, Labels(("A", "B")), user),
    )
    (one,) = await runtime.run([first], timeout=60)
    (two,) = await runtime.run([later], timeout=60)
    # Then the common pieces have the same tokens, and all of them are cached but for a part of a block
    assert one.prefix_tokens == two.prefix_tokens[:2]
    assert sum(one.prefix_tokens) < one.prompt_tokens
    assert two.cached_tokens > 0


async def test_a_timeout_aborts_and_leaves_the_runtime_usable(runtime):
    if runtime.name == "fake":
        runtime.hang = True
    heavy = [likelihood(f"{uuid.uuid4()} {DOGS * 20}") for _ in range(32)]
    with pytest.raises(RuntimeTimeout):
        await runtime.run(heavy, timeout=0.05)
    if runtime.name == "fake":
        runtime.hang = False
    (answer,) = await runtime.run([likelihood(DOGS)], timeout=30)
    assert answer.logprobs


async def test_a_cancelled_call_leaves_the_runtime_usable(runtime):
    if runtime.name == "fake":
        runtime.hang = True
    heavy = [likelihood(f"{uuid.uuid4()} {DOGS * 20}") for _ in range(32)]
    running = asyncio.create_task(runtime.run(heavy, timeout=60))
    await asyncio.sleep(0.05)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    if runtime.name == "fake":
        runtime.hang = False
    (answer,) = await runtime.run([likelihood(DOGS)], timeout=30)
    assert answer.logprobs


async def test_several_batches_may_be_under_way_at_once(runtime):
    batches = [[likelihood(f"{DOGS} Note {at}."), likelihood(TAXES)] for at in range(4)]
    answers = await asyncio.gather(*(runtime.run(batch, timeout=60) for batch in batches))
    assert all(total(dogs) > total(taxes) for dogs, taxes in answers)
