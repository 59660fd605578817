"""Monitors get every event in order; a monitor that is away harms nothing."""

import threading

from memsift_workers.drain.events import MAX_BUFFERED, EventStream


class Sink:
    def __init__(self, failing=False):
        self.failing = failing
        self.pending, self.published = [], []
        self.flushed = threading.Event()

    def send(self, kind, **fields):
        self.pending.append((kind, fields))

    def flush(self, errors=True, groups=True):
        if self.failing:
            raise ConnectionError("xyzzy")
        self.published += self.pending
        self.pending = []
        self.flushed.set()


def test_events_are_published_in_order_and_the_last_ones_at_the_stop():
    sink = Sink()
    stream = EventStream(sink)
    stream.start()
    stream.send("task-received", uuid="a")
    assert sink.flushed.wait(5)
    stream.send("task-succeeded", uuid="a")
    stream.stop()
    assert sink.published == [("task-received", {"uuid": "a"}), ("task-succeeded", {"uuid": "a"})]


def test_a_failing_monitor_is_logged_once_and_raises_nothing(caplog):
    stream = EventStream(Sink(failing=True))
    for at in range(3):
        stream.send("task-received", uuid=str(at))
        stream._flush()
    assert caplog.text.count("no task events") == 1
    assert "xyzzy" not in caplog.text


def test_what_nobody_takes_is_bounded():
    stream = EventStream(Sink())
    for at in range(MAX_BUFFERED + 5):
        stream.send("task-received", uuid=str(at))
    assert len(stream._buffer) <= MAX_BUFFERED
    assert stream._buffer[-1][1]["uuid"] == str(MAX_BUFFERED + 4)


def test_nobody_is_told_while_the_events_are_disabled():
    sink = Sink()
    stream = EventStream(sink)
    for sending, uuid in ((True, "a"), (False, "b"), (True, "c")):
        stream.sending = sending
        stream.send("task-received", uuid=uuid)
    stream._flush()
    assert [fields["uuid"] for _, fields in sink.published] == ["a", "c"]
