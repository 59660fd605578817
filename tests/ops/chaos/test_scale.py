"""What the scenario `scale` counts, at three places; and that counts which differ are told apart."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from memsift_ops.chaos.checks import Check
from memsift_ops.chaos.scenarios import scale
from memsift_schemas.metrics.instruments import SHARED_DIRECTORY
from tests.ops.chaos.made_up import call

COUNT = """
from memsift_schemas.metrics import catalogue
from memsift_schemas.metrics.instruments import Instruments
instruments = Instruments(catalogue.WORKER)
for outcome, times in (("ranked", {ranked}), ("late", 2)):
    instruments.count(catalogue.JOBS, "local", outcome, "none", by=times)
"""


def test_what_ended_workers_counted_is_still_counted_and_late_rankings_are_not(tmp_path):
    # Given two workers that counted into one directory and have ended
    for ranked in (3, 4):
        environment = {**os.environ, SHARED_DIRECTORY: str(tmp_path)}
        subprocess.run([sys.executable, "-c", COUNT.format(ranked=ranked)], env=environment, check=True)
    assert scale.counted_jobs(tmp_path) == 7


def test_only_jobs_that_flower_shows_as_succeeded_count():
    class Flower(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            states = {"a": "SUCCESS", "b": "REVOKED", "c": "SUCCESS", "d": "STARTED"}
            self.wfile.write(json.dumps({name: {"state": state} for name, state in states.items()}).encode())

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Flower) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert scale.succeeded(f"http://127.0.0.1:{server.server_port}") == 2
        server.shutdown()


@pytest.mark.parametrize(
    ("counted", "kept"), [(1000, True), (1001, True), (1002, False), (998, False), (0, False)]
)
def test_counts_that_differ_by_more_than_a_thousandth_break_the_promise(counted, kept):
    assert Check("x", scale._apart(counted, 1000), scale.AGREE).kept is kept
    assert not Check("x", scale._apart(counted, 0), scale.AGREE).kept


def test_answers_a_second_are_the_models_alone_by_when_they_came():
    calls = [
        call(0, started=10, ended=11),
        call(1, started=10, ended=19),
        call(2, started=10, ended=20),
        call(3, started=10, ended=12, source="prefilter", cause="deadline"),
    ]
    assert scale.per_second(calls, 10, 20) == 0.2
