"""Jobs as they lie in the queue."""

import pytest

from memsift_schemas import message, wire
from tests.samples import job


@pytest.fixture
def make(queue):
    """A job and its list item."""

    def build(**fields):
        whole = job(reply_to=f"{queue}:reply:t", **fields)
        return whole, message.build(whole, wire.encode_job(whole), queue)

    return build
