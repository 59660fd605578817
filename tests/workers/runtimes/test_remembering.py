"""An answer is remembered per prompt, user and wish, for a while; no prompt is kept."""

import pytest

from memsift_workers.runtimes import remembering
from memsift_workers.runtimes.base import Answer, Call, Labels, Likelihood, Runtime, RuntimeUnavailable
from memsift_workers.runtimes.remembering import LIFETIME_S, Remembering
from tests.fakes import FakeRuntime

CALL = Call(("the memory xyzzy",), "the question", Likelihood(), "u")


class Drifting(FakeRuntime):
    """Answers differently each time, as a real engine does in the last digits."""

    def __init__(self):
        super().__init__(rule=self.drift)
        self.asked = 0

    def drift(self, call):
        self.asked += 1
        return Answer(logprobs=(-1.0 - self.asked / 10,), prompt_tokens=9, cached_tokens=3)


@pytest.fixture
def inner():
    return Drifting()


@pytest.fixture
def runtime(inner, clock):
    return Remembering(inner, clock)


async def test_the_same_call_twice_gives_the_same_numbers_and_is_asked_once(runtime, inner):
    (first,) = await runtime.run([CALL], timeout=1)
    second, third = await runtime.run([CALL, CALL], timeout=1)
    assert first.logprobs == second.logprobs == third.logprobs
    assert (inner.asked, second.cached_tokens, second.prompt_tokens) == (1, 9, 9)
    assert isinstance(runtime, Runtime)


async def test_equal_calls_of_one_batch_are_asked_once(runtime, inner):
    first, second = await runtime.run([CALL, CALL], timeout=1)
    assert (first.logprobs, inner.asked) == (second.logprobs, 1)


@pytest.mark.parametrize(
    "other",
    [
        Call(("the memory xyzz",), "ythe question", Likelihood(), "u"),
        Call(("the memory xyzzy",), "the question", Likelihood(), "v"),
        Call(("the memory xyzzy",), "the question", Labels(("a",)), "u"),
        Call(("the memory xyzzy",), "another question", Likelihood(), "u"),
    ],
)
async def test_anything_else_is_asked(runtime, inner, other):
    known, new = (await runtime.run([CALL], timeout=1))[0], (await runtime.run([CALL, other], timeout=1))[1]
    assert known.logprobs != new.logprobs
    assert [len(batch) for batch in inner.batches] == [1, 1]


async def test_it_forgets_after_a_while(runtime, inner, clock):
    await runtime.run([CALL], timeout=1)
    clock.advance(LIFETIME_S + 1)
    await runtime.run([CALL], timeout=1)
    assert inner.asked == 2


async def test_it_remembers_a_bounded_number(runtime, inner, monkeypatch):
    monkeypatch.setattr(remembering, "MAX_ANSWERS", 3)
    calls = [Call(("m",), str(at), Likelihood(), "u") for at in range(5)]
    await runtime.run(calls, timeout=1)
    await runtime.run(calls[2:], timeout=1)
    assert inner.asked == 5
    await runtime.run(calls[:1], timeout=1)
    assert inner.asked == 6


async def test_a_fault_is_not_remembered(runtime, inner):
    inner.fault = RuntimeUnavailable("away")
    with pytest.raises(RuntimeUnavailable):
        await runtime.run([CALL], timeout=1)
    inner.fault = None
    assert len(await runtime.run([CALL], timeout=1)) == 1


async def test_no_prompt_is_kept(runtime):
    await runtime.run([CALL], timeout=1)
    assert "xyzzy" not in repr(vars(runtime)).replace(repr(runtime._inner), "")


async def test_what_another_model_answered_is_not_taken_for_this_ones(runtime, inner):
    (before,) = await runtime.run([CALL], timeout=1)
    inner.model = "the-next-model"
    (after,) = await runtime.run([CALL], timeout=1)
    assert after.logprobs != before.logprobs
    inner.model = FakeRuntime.model
    assert (await runtime.run([CALL], timeout=1))[0].logprobs == before.logprobs
