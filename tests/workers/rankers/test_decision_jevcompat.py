"""`decision` against the reference server of the System One specification, with each of its faults."""

import threading

import pytest
from jevcompat.mock import FAULTS, MockConfig, answer, make_server

from memsift_schemas import Cause
from memsift_workers.rankers.base import Scores
from memsift_workers.rankers.decision.dialects import SystemOne
from memsift_workers.rankers.decision.questions import questions, state
from memsift_workers.runtimes.base import RuntimeMisconfigured
from tests.samples import job
from tests.workers.rankers.remote import connected, order

KEY = "key-0815"
# What makes a server unusable, so that a worker refuses to start with it.
REFUSED_AT_START = {
    "wrong-route": "URL",
    "xssi-200": "not JSON",
    "auth-rejects-header": "API_KEY",
    "auth-x-api-key": "API_KEY",
    "reject-jev-latest": "MODEL",
    "first-question-only": "one probability per question",
    "noul-range": "from 0 to 1",
}
# What changes the mock's scores: it leaks something into its model that must not matter.
LEAKS = {"id-leaks", "batch-leaks", "order-leaks"}
NEEDS_KEY = {name for name in FAULTS if name.startswith("auth-") and name != "auth-rejects-header"}


@pytest.fixture(scope="module")
def server():
    """One mock for all tests, in a thread."""
    config = MockConfig()
    server = make_server(config)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    config.url = f"http://127.0.0.1:{server.server_address[1]}"
    yield config
    server.shutdown()
    server.server_close()


@pytest.fixture
def mock(server):
    """Set what the mock does from now on; gives its URL."""

    def behave(*faults, key=None, busy_every=0):
        server.faults, server.key, server.busy_every, server.requests = frozenset(faults), key, busy_every, 0
        return server.url

    behave()
    return behave


def expected(whole):
    """What the mock's model says about each memory, in the order of the job."""
    told = state(whole, most_tokens=8_000)
    asked = questions(whole)
    body = SystemOne().body("jev-latest", told, asked)["questions"]
    answers = [answer(MockConfig(), told, one.id, body[one.id], 0, len(asked)) for one in asked]
    return tuple(one["noul"] for one in answers)


async def ranked(url, jobs, **settings):
    async with connected("decision", url, **settings) as ranker:
        return ranker, await ranker.rank(jobs, timeout=5)


async def test_it_keeps_the_probabilities_as_scores(mock):
    jobs = [job(), job(query="钥匙在哪里？"), job(100)]
    ranker, outcomes = await ranked(mock(key=KEY), jobs)
    assert [outcome.values for outcome in outcomes] == [expected(whole) for whole in jobs]
    best = max(range(100), key=lambda at: outcomes[2].values[at])
    assert order(jobs[2], outcomes[2], ranker)[0] == f"m{best}"
    assert ranker.model == "jevcompat-mock-0.1"
    assert all(outcome.prompt_tokens > 0 for outcome in outcomes)


@pytest.mark.parametrize("fault", FAULTS)
async def test_with_every_fault_it_ranks_rightly_or_refuses_to_start(mock, fault):
    url = mock(fault, key=KEY if fault in NEEDS_KEY else None)
    whole = job()
    if fault in REFUSED_AT_START:
        with pytest.raises(RuntimeMisconfigured, match=REFUSED_AT_START[fault]):
            await ranked(url, [whole])
        return
    _, (outcome,) = await ranked(url, [whole])
    assert isinstance(outcome, Scores)
    assert (outcome.values == expected(whole)) is (fault not in LEAKS)
    assert (outcome.prompt_tokens > 0) is (fault != "no-usage")


@pytest.mark.parametrize("fault", sorted(REFUSED_AT_START))
async def test_a_server_that_breaks_after_the_start_gives_a_cause(mock, fault):
    key = None if fault == "auth-rejects-header" else KEY
    async with connected("decision", mock(key=key)) as ranker:
        mock(fault, key=key)
        outcomes = await ranker.rank([job(), job()], timeout=5)
    garbage = fault in {"xssi-200", "first-question-only", "noul-range"}
    cause = Cause.RUNTIME_GARBAGE if garbage else Cause.RUNTIME_UNAVAILABLE
    assert [outcome.cause for outcome in outcomes] == [cause] * 2


@pytest.mark.parametrize("key", ["wrong", ""])
@pytest.mark.parametrize("faults", [(), ("auth-plain",), ("auth-invalid-403-text",), ("text-errors",)])
async def test_a_wrong_or_missing_key_ends_the_start_with_the_remedy(mock, key, faults):
    with pytest.raises(RuntimeMisconfigured, match="MEMSIFT_DECISION_API_KEY"):
        await ranked(mock(*faults, key=KEY), [job()], decision_api_key=key)


@pytest.mark.parametrize("faults", [(), ("error-flat",), ("validation-400",), ("text-errors",)])
async def test_a_model_that_is_not_there_ends_the_start(mock, faults):
    with pytest.raises(RuntimeMisconfigured, match="HTTP 400"):
        await ranked(mock(*faults), [job()], decision_model="no-such-model")


async def test_a_busy_server_is_asked_again(mock):
    async with connected("decision", mock(busy_every=2)) as ranker:
        for _ in range(3):
            (outcome,) = await ranker.rank([job()], timeout=5)
            assert isinstance(outcome, Scores)
