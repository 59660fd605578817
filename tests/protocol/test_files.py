"""What other languages read of the protocol is what the Python code does now."""

import json
import re

import jsonschema_rs
import orjson
import pytest

from memsift_producer.prefilter import kinds, particulars
from memsift_schemas import RerankJob, message, wire
from tests.protocol import files, lexicon, messages, replies, schemas


def written(name):
    return json.loads((files.PROTOCOL / name).read_text())


@pytest.mark.parametrize("path", files.FILES, ids=lambda path: path.name)
def test_a_file_is_up_to_date(path):
    assert path.read_text(encoding="utf-8") == files.FILES[path](), "run `make docs`"


def test_a_file_that_is_not_shows(monkeypatch):
    # Given a producer that waits longer for a breaker's probe, and a message that shows more
    monkeypatch.setattr("memsift_producer.breaker.PROBE_GRACE_S", 2.0)
    monkeypatch.setattr(message, "describe", lambda job: job.query)
    # Then
    stale = {path.name for path, made in files.FILES.items() if path.read_text(encoding="utf-8") != made()}
    assert {"constants.ts", "jobs.json"} <= stale


def test_each_message_holds_its_job():
    for vector in written("vectors/jobs.json"):
        envelope = message.read(vector["message"].encode())
        assert wire.load_job(envelope.job) == RerankJob.model_validate(vector["job"])


def test_nothing_but_the_job_itself_shows_its_text():
    for vector in written("vectors/jobs.json"):
        around = {**orjson.loads(vector["message"]), "body": ""}
        assert not any(
            one["text"] in json.dumps(around, ensure_ascii=False) for one in vector["job"]["candidates"]
        )


def test_the_schema_of_a_job_holds_what_is_sent_and_refuses_what_workers_refuse():
    check = jsonschema_rs.validator_for(schemas.job())
    for vector in written("vectors/jobs.json"):
        assert check.is_valid(vector["encoded"])
        assert not check.is_valid({**vector["encoded"], "candidates": []})
        assert not check.is_valid({**vector["encoded"], "v": 2})


def test_the_schema_of_a_reply_agrees_with_what_is_read():
    check = jsonschema_rs.validator_for(schemas.reply())
    for vector in written("vectors/replies.json")["replies"]:
        try:
            data = json.loads(vector["raw"])
        except ValueError:
            assert "unreadable" in vector
            continue
        assert check.is_valid(data) == ("result" in vector), vector["name"]


def test_every_cause_of_a_refusal_has_a_vector():
    told = {vector["cause"] for vector in messages.refused() if "cause" in vector}
    assert {"invalid_job", "unknown_version", "expired"} <= told
    assert len(replies.RAW) == len(written("vectors/replies.json")["replies"])


@pytest.mark.parametrize("pattern", [kinds._DATE, kinds._CHINESE_TIME, particulars._CHINESE])
def test_a_translated_pattern_has_no_escape_that_javascript_reads_otherwise(pattern):
    assert not re.search(r"\\[wdbsWDBS]", lexicon.javascript(pattern))


@pytest.mark.parametrize("pattern", [r"\Z", r"[\b]", r"\W"])
def test_what_has_no_translation_is_not_translated(pattern):
    with pytest.raises(ValueError, match="no translation"):
        lexicon.javascript(re.compile(pattern))
