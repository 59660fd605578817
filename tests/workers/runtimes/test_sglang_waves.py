"""Prompts that begin alike do not go side by side."""

from hypothesis import given
from hypothesis import strategies as st

from memsift_workers.runtimes.base import Call, Labels, Likelihood
from memsift_workers.runtimes.sglang_waves import SHARED_TOKENS, waves
from memsift_workers.runtimes.sglang_wire import Prompt
from tests.workers.runtimes.fake_sglang import tokenize

LONG = list(range(SHARED_TOKENS))


def prompt(prefix, namespace="u"):
    return Prompt(prefix, [1], Likelihood(), namespace, [])


def test_the_first_of_those_that_begin_alike_goes_ahead():
    batch = [prompt([*LONG, 7]), prompt(LONG), prompt([9, *LONG]), prompt([*LONG, 8])]
    assert waves(batch) == [[0, 2], [1, 3]]


def test_another_users_prompt_and_a_short_one_wait_for_nothing():
    batch = [prompt(LONG), prompt(LONG, "v"), prompt(LONG[:-1]), prompt(LONG[:-1])]
    assert waves(batch) == [[0, 1, 2, 3]]


prefixes = st.lists(st.sampled_from([LONG, [*LONG, 1], LONG[:9], [5, *LONG]]), min_size=1, max_size=12)


@given(prefixes, st.data())
def test_each_goes_once_and_nothing_waits_for_what_is_not_there(chosen, data):
    batch = [prompt(one, data.draw(st.sampled_from("uv"))) for one in chosen]
    found = waves(batch)
    assert sorted(at for wave in found for at in wave) == list(range(len(batch)))
    ahead = {(batch[at].namespace, *batch[at].prefix[:SHARED_TOKENS]) for at in found[0]}
    for wave in found[1:]:
        assert all((batch[at].namespace, *batch[at].prefix[:SHARED_TOKENS]) in ahead for at in wave)


async def test_answers_come_back_in_the_order_of_the_calls(fake_server, connect_sglang):
    runtime = await connect_sglang(fake_server)
    fake_server.generated.clear()
    deck = "".join(f"{at:04} " for at in range(SHARED_TOKENS))
    size = len(tokenize(deck))
    calls = [
        Call((deck, "x"), "Y", Likelihood(), "ann"),
        Call((deck,), "N", Likelihood(), "ann"),
        Call(("short",), "def", Labels(("Y",)), "bob"),
    ]
    answers = await runtime.run(calls, timeout=5)
    sent = [request for request in fake_server.generated if "input_ids" in request]
    assert [len(request["input_ids"]) for request in sent] == [2, 1]
    sizes = [sum(len(tokenize(piece)) for piece in (*call.prefix, call.suffix)) for call in calls]
    assert [answer.prompt_tokens for answer in answers] == sizes
    # What the second begins with was computed for the first.
    assert answers[1].cached_tokens >= size - 1
