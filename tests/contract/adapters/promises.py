"""What every adapter promises, whatever the framework."""

import asyncio
import concurrent.futures
import copy

import pytest

from memsift_schemas.errors import InvalidInput

QUERY = "Where is the spare key to the cabin?"
ANSWER = "The spare key to the cabin lies under the blue flowerpot."
TEXTS = [
    "The cabin has no heating.",
    ANSWER,
    "Jonas moved to Trieste in January.",
    "我对榛子过敏，吃甜点之前要先问清楚。",
]
SECRET = "xyzzy-secret"


def ids(found):
    return [one.id for one in found]


def falling(found):
    scores = [one.score for one in found]
    return scores == sorted(set(scores), reverse=True) and all(0 < score < 1 for score in scores)


def the_model_ranks(subject, reranker):
    found = subject.ask(subject.adapter(reranker=reranker), QUERY, subject.documents(TEXTS))
    assert found[0].text == ANSWER
    assert sorted(ids(found)) == ["d0", "d1", "d2", "d3"]
    assert falling(found)
    assert {(one.source, one.cause) for one in found} == {("model", None)}


def what_was_given_stays_as_it_was(subject, reranker):
    given = subject.documents(TEXTS)
    before = copy.deepcopy(given)
    found = subject.ask(subject.adapter(reranker=reranker), QUERY, given)
    assert given == before
    assert {type(one.whole) for one in found} == {type(given[0])}


def top_cuts_the_ranking_and_nothing_else(subject, reranker):
    documents = subject.documents(TEXTS)
    everything = subject.ask(subject.adapter(reranker=reranker), QUERY, documents)
    for top in (1, 3, 9):
        found = subject.ask(subject.adapter(reranker=reranker, top=top), QUERY, documents)
        assert ids(found) == ids(everything)[:top]


def of_near_duplicates_one_is_at_the_front_and_all_come_back(subject, reranker):
    documents = subject.documents([ANSWER, *TEXTS, ANSWER.replace(".", "!")])
    found = subject.ask(subject.adapter(reranker=reranker), QUERY, documents)
    assert sorted(ids(found)) == [f"d{at}" for at in range(6)]
    assert [one.text for one in found].index(ANSWER) == 0
    assert {one.text.rstrip(".!") for one in found[-2:]} == {ANSWER.rstrip(".")}
    assert falling(found)


def nothing_in_nothing_out(subject, reranker):
    assert subject.ask(subject.adapter(reranker=reranker), QUERY, subject.documents([])) == []


def one_document_comes_back(subject, reranker):
    (only,) = subject.ask(subject.adapter(reranker=reranker), QUERY, subject.documents([ANSWER]))
    assert (only.text, only.id, only.source) == (ANSWER, "d0", "model")


def a_long_document_comes_back_whole(subject, reranker):
    long = f"{ANSWER} " * 200
    found = subject.ask(subject.adapter(reranker=reranker), QUERY, subject.documents([TEXTS[0], long]))
    assert found[0].text == long


def of_many_documents_the_answer_is_found_and_all_come_back(subject, reranker):
    texts = [f"Note {at} about the weather." for at in range(399)] + [ANSWER]
    found = subject.ask(subject.adapter(reranker=reranker), QUERY, subject.documents(texts))
    assert found[0].id == "d399"
    assert len(set(ids(found))) == 400


def a_document_without_text_comes_last(subject, reranker):
    found = subject.ask(subject.adapter(reranker=reranker), QUERY, subject.documents(["", *TEXTS, " \n"]))
    assert ids(found)[-2:] == ["d0", "d5"]


def threads_get_each_their_own(subject, reranker):
    adapter = subject.adapter(reranker=reranker, top=1)

    def ask(at):
        texts = [f"Locker {at} is opened by code {at * 7}.", *TEXTS[2:]]
        return subject.ask(adapter, f"Which code opens locker {at}?", subject.documents(texts))

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = list(pool.map(ask, range(48)))
    assert [one.text for (one,) in found] == [f"Locker {at} is opened by code {at * 7}." for at in range(48)]


def errors_hold_no_text(subject, reranker):
    adapter = subject.adapter(reranker=reranker)
    with pytest.raises(InvalidInput, match="query") as told:
        subject.ask(adapter, " ", subject.documents([SECRET]))
    assert SECRET not in str(told.value)
    for name, wrong in {
        "session": f"{SECRET}\x01",
        "deadline": -1,
        "timezone": SECRET,
        "sesion": SECRET,
    }.items():
        with pytest.raises(ValueError, match=name) as told:
            subject.ask(
                subject.adapter(reranker=reranker, **{name: wrong}), QUERY, subject.documents([SECRET])
            )
        assert SECRET not in str(told.value)


PROMISES = (
    the_model_ranks,
    what_was_given_stays_as_it_was,
    top_cuts_the_ranking_and_nothing_else,
    of_near_duplicates_one_is_at_the_front_and_all_come_back,
    nothing_in_nothing_out,
    one_document_comes_back,
    a_long_document_comes_back_whole,
    of_many_documents_the_answer_is_found_and_all_come_back,
    a_document_without_text_comes_last,
    threads_get_each_their_own,
    errors_hold_no_text,
)


async def tasks_get_each_their_own(subject, reranker):
    adapter = subject.adapter(reranker=reranker, top=1)

    async def ask(at):
        texts = [f"Locker {at} is opened by code {at * 7}.", *TEXTS[2:]]
        return await subject.ask_async(adapter, f"Which code opens locker {at}?", subject.documents(texts))

    found = await asyncio.gather(*map(ask, range(48)))
    assert [one.text for (one,) in found] == [f"Locker {at} is opened by code {at * 7}." for at in range(48)]
    assert {one.source for (one,) in found} == {"model"}
