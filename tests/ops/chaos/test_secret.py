"""A planted secret is found however it is written."""

import base64
import json

import pytest

from memsift_ops.chaos.secret import leaks, plant

SECRET = plant(7)


@pytest.fixture
def log(tmp_path):
    def log(content):
        path = tmp_path / "worker.log"
        path.write_bytes(content)
        return leaks([path], SECRET)

    return log


@pytest.mark.parametrize("text", [SECRET.ascii, SECRET.chinese])
@pytest.mark.parametrize("before", [b"", b"a", b"ab", b"abc"])
def test_in_plain_escaped_and_base64_text(log, text, before):
    raw = text.encode()
    assert log(before + raw + b" after") == {"worker.log": 1}
    assert log(before + json.dumps(text).encode()) == {"worker.log": 1}
    assert log(before + text.encode("utf-16-le")) == {"worker.log": 1}
    assert sum(log(base64.b64encode(before + raw + b"after")).values()) >= 1


def test_none_where_none_is(log):
    assert log(b"all is well\n" * 1000) == {}
    assert log(plant(8).planted.encode()) == {}


def test_across_the_borders_of_what_is_read_at_once(log):
    for shift in range(len(SECRET.ascii) + 1):
        at = (1 << 20) - shift
        assert log(b"x" * at + SECRET.ascii.encode() + b"y" * 100) == {"worker.log": 1}


def test_the_same_seed_plants_the_same():
    assert plant(7) == SECRET
    assert plant(8) != SECRET
