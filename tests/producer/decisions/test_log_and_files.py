"""A slow, full or lost disk costs lines and never a call; files go when they are old or too many."""

import errno
import os
import threading
import time

import pytest

from memsift_producer.decisions import files as files_module
from memsift_producer.decisions.files import ROTATE_S, Files
from memsift_producer.decisions.log import DecisionLog
from memsift_schemas.decision import Gap, decode

LINE = b'{"kind":"gap","v":1,"at":"2026-01-01T00:00:00Z","dropped":0}\n'


class Disk:
    """Files that a test makes slow or full; keeps what was written."""

    def __init__(self):
        self.open, self.fault, self.lines = threading.Event(), None, []
        self.open.set()

    def append(self, line):
        self.open.wait(10)
        if self.fault:
            raise self.fault
        self.lines.append(line)

    def tend(self):
        if self.fault:
            raise self.fault

    def close(self):
        pass


@pytest.fixture
def disk():
    return Disk()


@pytest.fixture
def started(disk):
    logs = []

    def start(**more):
        log = DecisionLog(disk, now=time.time, **more)
        logs.append(log)
        log.start()
        return log

    yield start
    disk.open.set()
    disk.fault = None
    for log in logs:
        log.close()


def until(condition, seconds=10):
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.005)


def test_what_waits_is_written_at_the_end(disk, started):
    log = started()
    for _ in range(50):
        log.note(lambda: LINE)
    log.close()
    assert (len(disk.lines), log.dropped) == (50, 0)


def test_a_slow_disk_costs_lines_and_no_time_and_the_gap_is_told(disk, started):
    # Given a disk that takes nothing more
    log = started(most=3)
    disk.open.clear()
    # When more comes than may wait
    for _ in range(10):
        log.note(lambda: LINE)
    assert log.dropped >= 6
    # Then the caller was not held up, and later lines are preceded by their number
    disk.open.set()
    until(lambda: len(disk.lines) >= 3)
    log.note(lambda: LINE)
    log.close()
    gaps = [line.dropped for raw in disk.lines if isinstance(line := decode(raw), Gap) and line.dropped]
    assert sum(gaps) == log.dropped
    assert len(disk.lines) - len(gaps) + log.dropped == 11


def test_a_full_disk_is_told_once_and_tried_again(disk, started, caplog):
    log = started()
    disk.fault = OSError(errno.ENOSPC, "No space left on device")
    for _ in range(20):
        log.note(lambda: LINE)
    until(lambda: log.dropped == 20)
    assert sum("No space left" in record.message for record in caplog.records) == 1
    disk.fault = None
    until(lambda: (log.note(lambda: LINE), disk.lines)[1])
    log.close()
    assert decode(disk.lines[0]).dropped >= 20


def test_a_line_that_cannot_be_made_is_dropped_and_tells_no_text(disk, started, caplog):
    def bad():
        raise ValueError("xyzzy-private")

    log = started()
    log.note(bad)
    log.note(lambda: LINE)
    log.close()
    assert (log.dropped, disk.lines[-1]) == (1, LINE)
    assert "ValueError" in caplog.text
    assert "xyzzy" not in caplog.text


def test_closing_does_not_wait_for_a_disk_for_ever(disk, started, monkeypatch):
    monkeypatch.setattr("memsift_producer.decisions.log.CLOSE_S", 0.05)
    log = started()
    disk.open.clear()
    log.note(lambda: LINE)
    log.note(lambda: LINE)
    log.close()
    assert disk.lines == []


@pytest.fixture
def files(tmp_path, clock):
    clock.now = time.time()
    return lambda **more: Files(tmp_path, **{"days": 2.0, "megabytes": 16, "now": clock.time, **more})


def there(folder):
    return sorted(path.name for path in folder.glob("decisions-*.jsonl"))


def test_a_file_is_followed_by_another_when_it_is_old_or_full(files, tmp_path, clock):
    one = files()
    one.append(b"a" * 1_000)
    one.append(b"b")
    assert len(there(tmp_path)) == 1
    clock.advance(ROTATE_S)
    one.append(b"c")
    assert len(there(tmp_path)) == 2
    one.append(b"d" * 2_000_000)
    one.append(b"ee")
    assert len(there(tmp_path)) == 4
    one.close()


def test_what_is_old_is_deleted_and_nothing_else(files, tmp_path, clock):
    old, young, foreign = (tmp_path / name for name in ("decisions-a.jsonl", "decisions-b.jsonl", "x.jsonl"))
    for path, days in ((old, 2.1), (young, 1.9), (foreign, 99)):
        path.write_bytes(LINE)
        os.utime(path, (clock.now - days * 86_400,) * 2)
    files().tend()
    assert [old.exists(), young.exists(), foreign.exists()] == [False, True, True]


def test_no_more_is_kept_than_is_set_the_oldest_go_first(files, tmp_path, clock):
    for at in range(20):
        path = tmp_path / f"decisions-{at:02}.jsonl"
        path.write_bytes(b"x" * 1_000_000)
        os.utime(path, (clock.now - 10_000 + at,) * 2)
    one = files()
    one.append(LINE)
    names = there(tmp_path)
    # 16 MB may be kept, of which the new file may take 2
    assert [name for name in names if len(name) == 18] == [f"decisions-{at:02}.jsonl" for at in range(6, 20)]
    assert len(names) == 15
    one.close()


def test_a_line_that_is_written_in_part_begins_a_new_file(files, tmp_path, monkeypatch):
    one, real = files(), os.write
    monkeypatch.setattr(files_module.os, "write", lambda number, line: real(number, line[:5]))
    with pytest.raises(OSError, match="part"):
        one.append(LINE)
    monkeypatch.undo()
    one.append(LINE)
    one.close()
    contents = sorted(path.read_bytes() for path in tmp_path.iterdir())
    assert contents == sorted([LINE[:5], LINE])
