"""Who works on the queue, and another Celery app that consumes what is memsift's."""

import sys

import pytest

from memsift_ops import services
from memsift_ops.doctor import crew
from tests.integration.servers import until
from tests.ops.doctor.conftest import faults

pytestmark = pytest.mark.stack


@pytest.fixture
def look(start_valkey, queue):
    url = start_valkey()
    client = services.client(url)
    yield lambda: {one.check: one for one in crew.look(client, queue, url)}, url
    client.close()


def test_a_worker_that_is_there_and_answers(look, servers, queue):
    looked, url = look
    assert faults(looked().values()) == ["workers.present"]
    servers.worker(url, queue)
    # Remote control answers a moment after the worker is ready.
    findings = until(lambda: (said := looked())["workers.control"].state == "ok" and said)
    assert {one.state for one in findings.values()} == {"ok"}
    assert queue in findings["workers.present"].told


def test_another_app_that_consumes_the_control_queue_is_named(look, servers, queue, tmp_path):
    # Given a Celery app of somebody else's, whose worker consumes memsift's control queue
    looked, url = look
    (tmp_path / "elsewhere.py").write_text(f"from celery import Celery\napp = Celery(broker={url!r})\n")
    argv = [sys.executable, "-m", "celery", "--workdir", str(tmp_path), "-A", "elsewhere", "worker"]
    argv += ["-P", "solo", "-n", "mail@%h", "-Q", f"{queue}.celery,mail"]
    servers.start("elsewhere", argv)
    findings = until(lambda: (said := looked())["workers.strangers"].state == "fault" and said)
    assert "mail@" in findings["workers.strangers"].told
    assert f"{queue}.celery" in findings["workers.strangers"].told
    assert "MEMSIFT_QUEUE" in findings["workers.strangers"].remedy
