"""A process of ours writes its log in one way, on a terminal and elsewhere."""

import json
import os
import pty
import subprocess
import sys

import pytest

SCRIPT = """
import asyncio, logging, sys
from memsift_schemas import logs
logs.start({level!r}, {form!r}, path={path!r})
log = logging.getLogger("memsift.worker")
log.debug("closely")
log.info("ready", extra={{"queue": "q"}})
for at in range(100):
    log.warning("job %s falls back: %s", at, "expired", extra={{"job": str(at), "cause": "expired"}})
for name in ("httpx", "openai", "httpcore", "uvicorn", "celery"):
    logging.getLogger(name).debug("xyzzy-secret")
logging.getLogger("httpx").info("POST http://xyzzy-secret")
logging.getLogger("celery").info("celery lives")
"""


def run(form="auto", level="INFO", path=None, **options):
    script = SCRIPT.format(form=form, level=level, path=path)
    return subprocess.run([sys.executable, "-c", script], timeout=60, check=True, **options)


def test_where_no_person_looks_each_line_is_json_and_a_storm_is_two():
    lines = [json.loads(line) for line in run(capture_output=True, text=True).stderr.splitlines()]
    assert [line["event"] for line in lines] == [
        "ready",
        "job 0 falls back: expired",
        "celery lives",
        "job 99 falls back: expired (the last of 99 such events in 0 s)",
    ]
    assert (lines[0]["queue"], lines[3]["repeated"], lines[3]["job"]) == ("q", 99, "99")


def test_on_a_terminal_it_is_for_people():
    ours, theirs = pty.openpty()
    run(stderr=theirs)
    os.close(theirs)
    said = os.read(ours, 65_536).decode()
    os.close(ours)
    assert "INFO    ready" in said
    assert "\x1b[33m" in said
    assert "{" not in said


@pytest.mark.parametrize("form", ["human", "json"])
def test_others_are_not_heard_when_we_look_closely(form):
    said = run(form, "DEBUG", capture_output=True, text=True).stderr
    assert "closely" in said
    assert "xyzzy-secret" not in said


def test_a_file_is_json_and_standard_error_is_empty(tmp_path):
    ended = run(path=str(tmp_path / "worker.log"), capture_output=True, text=True)
    assert ended.stderr == ""
    assert json.loads((tmp_path / "worker.log").read_text().splitlines()[0])["event"] == "ready"
