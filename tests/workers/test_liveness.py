"""The heartbeat's file: small, replaced as a whole, in a place of the worker's own."""

import json
import os
import tempfile
import time

import pytest

from memsift_workers import liveness
from memsift_workers.liveness import Stamp, Stamps

SECONDS = time.monotonic()


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The default folder of this test."""
    monkeypatch.delenv(liveness.VARIABLE, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path / f"memsift-{os.geteuid()}"


def stamp(worker="w@host", **fields):
    return Stamp(worker, pid=7, beat=SECONDS, **fields)


def test_what_was_written_last_is_read_and_nothing_is_left_at_the_end(place):
    stamps = Stamps("w@host")
    stamps.write(stamp(waits_for=("start",)))
    stamps.write(stamp(ready=True, paused=True))
    assert liveness.read() == [stamp(ready=True, paused=True)]
    assert (place.stat().st_mode & 0o777, len(list(place.iterdir()))) == (0o700, 1)
    stamps.remove()
    stamps.remove()
    assert liveness.read() == []


def test_it_holds_numbers_and_names_alone(place):
    Stamps("w@host").write(stamp())
    (file,) = place.iterdir()
    assert json.loads(file.read_text()).keys() == {"worker", "pid", "beat", "ready", "waits_for", "paused"}


def test_each_worker_of_a_machine_has_its_own(place):
    for name in ("a@host", "b/c@host"):
        Stamps(name).write(stamp(name))
    assert [one.worker for one in liveness.read()] == ["a@host", "b/c@host"]


def test_a_folder_may_be_given(tmp_path, monkeypatch):
    monkeypatch.setenv(liveness.VARIABLE, str(tmp_path / "deep" / "er"))
    Stamps("w@host").write(stamp())
    assert liveness.read() == [stamp()]
    Stamps("v@host", str(tmp_path / "other")).write(stamp("v@host"))
    assert [one.worker for one in liveness.read(str(tmp_path / "other"))] == ["v@host"]


def test_the_temporary_place_of_somebody_else_is_not_used(place, tmp_path):
    (tmp_path / "theirs").mkdir()
    place.symlink_to(tmp_path / "theirs")
    with pytest.raises(PermissionError):
        Stamps("w@host").write(stamp())


@pytest.mark.parametrize("content", ["", "{", "[]", '{"worker": "w"}', '{"worker": 1, "waits_for": 2}'])
def test_what_is_no_stamp_is_left_out(place, content):
    Stamps("w@host").write(stamp())
    (place / f"x{liveness.SUFFIX}").write_text(content)
    assert liveness.read() == [stamp()]


def test_a_stamp_from_before_the_machine_started_has_no_age():
    assert stamp().age_s(SECONDS + 3) == pytest.approx(3)
    assert stamp().age_s(SECONDS - 3) == float("inf")
