"""A server is used when it ranks right, not because it answers."""

import socket

import pytest

from memsift_schemas import settings as settings_module
from memsift_schemas.settings import WorkerSettings
from memsift_workers.assembly import build_rankers
from memsift_workers.egress import EgressRefused
from memsift_workers.rankers.base import Scores
from memsift_workers.runtimes.base import RuntimeMisconfigured, RuntimeUnavailable
from tests.samples import job
from tests.workers.rankers.clef_server import _rerank_processes, clef, rerank_server
from tests.workers.rankers.rerank_dialects import DIALECTS
from tests.workers.rankers.rerank_server import SPOILERS

__all__ = ["_rerank_processes", "clef", "rerank_server"]

KEY = "a-very-secret-key"
on_every_server = pytest.mark.parametrize("dialect", DIALECTS)
STATUSES = {400: "HTTP 400", 404: "HTTP 404", 418: "HTTP 418", 307: "HTTP 307"}


SAID = {
    "html": "not JSON",
    "nan": "not JSON",
    "infinite": "not JSON",
    "empty": "0 scores for 5 texts",
    "short": "4 scores for 5 texts",
    "twice": "index 3 twice",
    "no_rows": "an object with message",
    "reversed": "not the right text",
    "constant": "not the right text",
}


@on_every_server
async def test_a_server_that_answers_wrongly_is_refused_and_told_what_it_said(rerank_server, clef, dialect):
    server = rerank_server(dialect)
    ranker = await clef(server, start=False)
    for kind in sorted({*SPOILERS, "html", "no_rows"}):
        # Given a server that answers HTTP 200, but no right ranking
        server.fault(kind)
        # Then it is refused, with the shape of the answer and the variable to look at
        with pytest.raises(RuntimeMisconfigured, match="MEMSIFT_CLEF_URL") as caught:
            await ranker.start()
        assert SAID.get(kind, "for 5 texts") in str(caught.value), kind
        assert "flowerpot" not in str(caught.value)
    # And when it answers rightly, the same ranker starts
    server.fault()
    await ranker.start()
    (outcome,) = await ranker.rank([job()], timeout=10)
    assert isinstance(outcome, Scores)


@pytest.mark.parametrize(("status", "said"), STATUSES.items())
async def test_a_server_without_rerank_is_refused(rerank_server, clef, status, said):
    server = rerank_server("tei")
    ranker = await clef(server, start=False)
    server.fault("status", status=status, headers={"location": "http://192.0.2.1/rerank"})
    with pytest.raises(RuntimeMisconfigured, match=said):
        await ranker.start()


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_server_that_is_not_ready_is_waited_for(rerank_server, clef, status):
    server = rerank_server("vllm")
    ranker = await clef(server, start=False)
    server.fault("status", status=status)
    with pytest.raises(RuntimeUnavailable, match=str(status)):
        await ranker.start()
    server.fault()
    await ranker.start()
    (outcome,) = await ranker.rank([job()], timeout=10)
    assert isinstance(outcome, Scores)


async def test_a_server_that_fails_on_the_dialects_it_does_not_know_is_found_all_the_same(
    rerank_server, clef, caplog
):
    # The first request, which is not in vLLM's dialect, gets a 500
    caplog.set_level("INFO", logger="memsift.worker")
    server = rerank_server("vllm")
    ranker = await clef(server, start=False)
    server.fault("status", status=500, times=1)
    await ranker.start()
    assert "/rerank speaks the vllm dialect" in caplog.text


async def test_a_server_that_ranks_wrongly_is_not_waited_for_because_of_a_500_elsewhere(rerank_server, clef):
    server = rerank_server("vllm", "--ranks-wrongly")
    ranker = await clef(server, start=False)
    server.fault("status", status=500, times=1)
    with pytest.raises(RuntimeMisconfigured, match="not the right text"):
        await ranker.start()


async def test_nobody_there_is_waited_for(clef):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))

        class Nobody:
            url, dialect = f"http://127.0.0.1:{taken.getsockname()[1]}", "tei"

        ranker = await clef(Nobody, start=False)
        with pytest.raises(RuntimeUnavailable):
            await ranker.start()


@on_every_server
async def test_the_key_goes_out_and_a_wrong_one_is_named_by_its_variable(rerank_server, clef, dialect):
    server = rerank_server(dialect, "--api-key", KEY)
    ranker = await clef(server, clef_api_key=KEY)
    (outcome,) = await ranker.rank([job()], timeout=10)
    assert isinstance(outcome, Scores)
    for wrong in ("not-this-one", None):
        server.fault()
        other = await clef(server, start=False, clef_api_key=wrong)
        with pytest.raises(RuntimeMisconfigured, match="MEMSIFT_CLEF_API_KEY") as caught:
            await other.start()
        assert "not-this-one" not in str(caught.value)
        assert len(server.bodies()) == 1
    assert KEY not in repr(WorkerSettings(clef_api_key=KEY))


@pytest.mark.parametrize("dialect", ["infinity", "vllm", "cohere"])
async def test_a_model_that_the_server_does_not_have_is_refused(rerank_server, clef, dialect):
    ranker = await clef(rerank_server(dialect), start=False, clef_model="another")
    with pytest.raises(RuntimeMisconfigured, match="MEMSIFT_CLEF_MODEL"):
        await ranker.start()


async def test_a_length_that_the_server_does_not_take_is_refused_at_start(rerank_server, clef):
    server = rerank_server("sglang", "--longest", "60")
    ranker = await clef(server, start=False, clef_max_chars=600)
    with pytest.raises(RuntimeMisconfigured, match=r"600 characters of English .*MEMSIFT_CLEF_MAX_CHARS"):
        await ranker.start()


async def test_a_length_that_only_chinese_exceeds_is_warned_of(rerank_server, clef, caplog):
    await clef(rerank_server("sglang", "--longest", "60"), clef_max_chars=240)
    assert "240 characters of Chinese" in caplog.text


@pytest.mark.parametrize("url", ["http://8.8.8.8", "https://1.1.1.1/v1/rerank", "http://user:pw@9.9.9.9"])
async def test_a_public_address_is_refused_before_anything_is_sent(clef, url):
    class Public:
        dialect = "tei"

    Public.url = url
    ranker = await clef(Public, start=False)
    with pytest.raises(EgressRefused, match="MEMSIFT_ALLOW_EGRESS") as caught:
        await ranker.start()
    assert "pw" not in str(caught.value)


@pytest.mark.parametrize("url", ["", "localhost:8080", "ftp://127.0.0.1", "http://", "http://[::1"])
def test_a_url_that_is_none_is_named_by_its_variable(url):
    settings = settings_module.load(WorkerSettings, ranker="clef", clef_url=url)
    with pytest.raises(RuntimeMisconfigured, match="MEMSIFT_CLEF_URL"):
        build_rankers(settings)


def test_a_worker_may_serve_it_alone_and_in_a_chain():
    settings = settings_module.load(
        WorkerSettings, ranker="clef", also_serve="clef>local", runtime="scripted"
    )
    assert [ranker.name for ranker in build_rankers(settings)] == ["clef", "clef>local"]


@pytest.mark.sglang
@pytest.mark.timeout(900)  # it may have to be installed first
async def test_a_real_sglang_with_a_chat_model_is_refused(sglang_server, clef):
    class Real:
        url, dialect = sglang_server, "sglang"

    ranker = await clef(Real, start=False)
    with pytest.raises(RuntimeMisconfigured, match="/v1/rerank as sglang") as caught:
        await ranker.start()
    assert "flowerpot" not in str(caught.value)
