"""How a batch becomes requests, and how token ids are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_workers.runtimes.base import Json, Labels, Likelihood, RuntimeGarbage
from memsift_workers.runtimes.sglang_tokens import TokenCache
from memsift_workers.runtimes.sglang_wire import Prompt, parse, plan

IDS = st.lists(st.integers(0, 150_000), min_size=1, max_size=6)
WISHES = st.sampled_from([Likelihood(), Labels(("a",)), Labels(("b",)), Json({}, 9), Json({}, 10)])
PROMPTS = st.builds(
    lambda prefix, suffix, wish, namespace: Prompt(
        prefix, suffix, wish, namespace, [len(wish.labels[0])] if isinstance(wish, Labels) else []
    ),
    IDS,
    IDS,
    WISHES,
    st.sampled_from(["", "ann", "bob"]),
)


@given(st.lists(PROMPTS, min_size=1, max_size=12), st.booleans())
def test_every_prompt_goes_out_once_with_its_own_settings(prompts, lists):
    requests = plan(prompts, lists=lists)
    # Then every prompt is in one request
    assert sorted(at for request in requests for at in request.positions) == list(range(len(prompts)))
    for request in requests:
        for row, at in enumerate(request.positions):
            values = {name: value[row] if lists else value for name, value in request.body.items()}
            assert request.body["input_ids"][row] == prompts[at].prefix + prompts[at].suffix
            assert values["extra_key"] == prompts[at].namespace
            assert values["return_logprob"] != isinstance(prompts[at].wish, Json)
            assert values["token_ids_logprob"] == prompts[at].labels
    # And no two requests have the same settings
    settings = [{**request.body, "input_ids": None} for request in requests]
    assert all(one not in settings[:at] for at, one in enumerate(settings))
    assert not lists or len(requests) == 1


@given(
    st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_other_json_is_garbage(reply):
    with pytest.raises(RuntimeGarbage):
        parse(reply, [Prompt([1], [2], Likelihood(), "", [])])


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 9)), max_size=60), st.integers(0, 20))
def test_the_cache_keeps_ids_exactly_and_is_bounded(uses, bound):
    cache = TokenCache(max_tokens=bound)
    expected = {}
    for text, size in uses:
        found = cache.get(text)
        if found is None:
            expected[text] = list(range(size))
            cache.put(text, expected[text])
        else:
            assert found == expected[text]
        held = [ids for ids in map(cache.get, expected) if ids is not None]
        assert sum(map(len, held)) <= bound


def test_the_longest_unused_text_makes_room():
    cache = TokenCache(max_tokens=4)
    cache.put("old", [1, 2])
    cache.put("used", [3, 4])
    assert cache.get("old") == [1, 2]  # used now
    cache.put("new", [5])
    assert cache.get("used") is None
    assert cache.get("old") == [1, 2]
