"""What a frontend's own Sentry shows of our exceptions: no word of the user, whatever else it records."""

import pytest
import sentry_sdk

from memsift_producer import Reranker, SyncReranker
from memsift_schemas import InvalidInput
from memsift_schemas.settings import ProducerSettings
from tests.sentry_recorder import Recorder

SECRET = "xyzzy-secret"
# In a module's variable and not in a frame's: the frontend's own frames are its own matter.
MEMORY = {"id": "m1", "text": SECRET, "created_at": "2026-01-01T00:00Z"}
WRONG = [
    {"query": f" {SECRET} ", "memories": [{"id": "m1", "text": SECRET, "created_at": SECRET}]},
    {"query": SECRET, "memories": [MEMORY], "turns": [{"role": SECRET, "text": SECRET}]},
    {"query": SECRET, "memories": [MEMORY], "deadline": -1},
    {"query": SECRET, "memories": [MEMORY], "ranker": SECRET * 100},
]


@pytest.fixture
def sentry():
    """As an application starts it that has heard nothing of privacy: local variables are on."""
    Recorder.forget()
    sentry_sdk.init(dsn="https://key@sentry.invalid/1", transport=Recorder, default_integrations=False)
    yield Recorder
    sentry_sdk.get_client().close()
    sentry_sdk.get_global_scope().set_client(None)


def sent_of(error):
    sentry_sdk.capture_exception(error)
    sentry_sdk.flush(2)
    (raw,) = Recorder.sent
    return raw


@pytest.mark.parametrize("at", range(len(WRONG)))
async def test_an_argument_that_is_wrong_is_reported_without_any_text(sentry, valkey_url, queue, at):
    async with Reranker.from_url(valkey_url, queue=queue) as reranker:
        with pytest.raises(InvalidInput) as caught:
            await reranker.rerank(**WRONG[at])
    raw = sent_of(caught.value)
    assert b"InvalidInput" in raw
    assert b"test_error_reports.py" in raw
    assert SECRET.encode() not in raw


def test_so_it_is_without_asyncio(sentry, valkey_url, queue):
    settings = ProducerSettings(redis_url=valkey_url, queue=queue)
    with SyncReranker(settings) as reranker, pytest.raises(InvalidInput) as caught:
        reranker.rerank(**WRONG[0])
    # In two lines: pytest keeps the parts of an assertion in this frame.
    raw = sent_of(caught.value)
    assert SECRET.encode() not in raw


def test_the_search_finds_what_a_frame_shows(sentry):
    """Given the fault that the tests above are there for, a frame that shows its variables."""

    def shown(text):
        raise InvalidInput("wrong")

    with pytest.raises(InvalidInput) as caught:
        shown(WRONG[0]["query"])
    assert SECRET.encode() in sent_of(caught.value)


def test_the_library_starts_no_sentry_of_its_own(valkey_url, queue):
    with SyncReranker(ProducerSettings(redis_url=valkey_url, queue=queue)):
        assert not sentry_sdk.is_initialized()
