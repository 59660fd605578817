"""`memsift ui` as a person runs it."""

import contextlib
import json
import signal
import socket
import urllib.request
import webbrowser

import pytest

from memsift_ops import gateway_app, scene
from memsift_ops.commands import ui
from memsift_ops.stack import Stack
from memsift_schemas import redis_urls
from tests.ops.processes import Command, gone, linux_only

PRINTED = "the page: http://127.0.0.1:"
ASK = {
    "query": "Where is the key?",
    "session": "s1",
    "user": "u1",
    "candidates": [
        {"id": "a", "text": "The cabin has no heating in winter.", "created_at": "2026-03-02T09:30:00+08:00"},
        {"id": "b", "text": "The key lies under the blue pot.", "created_at": None},
        {"id": "c", "text": "Jonas moved to Trieste in January.", "created_at": None},
    ],
}


@pytest.fixture
def start(monkeypatch):
    monkeypatch.delenv("MEMSIFT_REDIS_URL", raising=False)
    started = []

    def start(*arguments, **environment):
        started.append(Command("ui", "--no-open", *arguments, **environment))
        return started[-1]

    yield start
    for one in started:
        one.kill()


def fetch(line, path, body=None):
    """From the page's address, as it was printed."""
    url = line.split()[2] + path
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode() if body else None, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        content = answer.read()
    return json.loads(content) if path else content.decode()


@pytest.mark.stack
@linux_only
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_redis_it_starts_all_that_the_page_needs(start, number):
    one = start(MEMSIFT_RUNTIME="scripted")
    line = one.until_printed(PRINTED)
    assert "<h1" in fetch(line, "")
    assert fetch(line, "state")["rankers"] == ["jev>local", "jev", "local"]
    for ranker in ("jev>local", "jev", "local"):
        result = fetch(line, "rank", {**ASK, "ranker": ranker})["result"]
        assert (result["source"], result["ranker"]) == ("model", ranker)
        assert {"prefilter", "queue", "place", "rank", "total"} <= set(result["timings_ms"])
    assert [one["title"] for one in fetch(line, "scenes")] == [scene.load(name).title for name in scene.NAMES]
    one.process.send_signal(number)
    code, err = one.end()
    assert code == 0, err
    assert "MEMSIFT_REDIS_URL is not set: starting Valkey and a worker of our own" in err
    assert gone(one.mark)


@pytest.mark.engine
@linux_only
def test_the_real_model_answers_and_its_cache_shows(start):
    one = start()
    line = one.until_printed(PRINTED)
    assert fetch(line, "state")["models"]
    first = fetch(line, "rank", ASK)["result"]
    again = fetch(line, "rank", {**ASK, "query": "Who has moved, and where to?"})["result"]
    assert first["source"] == again["source"] == "model"
    assert 0 <= first["cached_tokens"] < again["cached_tokens"] < again["prompt_tokens"]
    one.process.send_signal(signal.SIGINT)
    assert one.end()[0] == 0


@pytest.mark.stack
@linux_only
def test_with_a_redis_it_connects_and_says_who_is_there(start):
    with Stack("q:ui") as running, pytest.MonkeyPatch.context() as patched:
        url = running.start_valkey()
        told = {"MEMSIFT_REDIS_URL": url, "MEMSIFT_QUEUE": running.queue}
        alone = start(**told)
        line = alone.until_printed(PRINTED)
        assert fetch(line, "state")["workers"] == 0
        result = fetch(line, "rank", {**ASK, "deadline_ms": 100})["result"]
        assert (result["source"], result["cause"]) == ("prefilter", "deadline")
        alone.process.send_signal(signal.SIGINT)
        code, err = alone.end()
        assert code == 0
        assert (
            "no worker is ready there, so the prefilter will answer; start one with `memsift worker`" in err
        )
        patched.setenv("MEMSIFT_RUNTIME", "scripted")
        running.start_worker()
        served = start(**told)
        assert fetch(served.until_printed(PRINTED), "state")["rankers"] == ["local"]
        served.process.send_signal(signal.SIGINT)
        assert f"connects to queue q:ui on {url}: 1 ready worker (local on none)" in served.end()[1]


def test_a_taken_port_is_said_to_be(run):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, _, err = run("ui", f"--port={taken.getsockname()[1]}")
    assert code == 2
    assert "is taken" in err


class StandIn:
    """In a stack's place: nothing is started."""

    def start_gateway(self, port):
        return f"http://127.0.0.1:{port}"

    def wait(self):
        raise KeyboardInterrupt


@pytest.fixture
def opened(monkeypatch):
    """What a browser was told to open."""
    monkeypatch.setattr(ui, "_stack", lambda: contextlib.nullcontext(StandIn()))
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    urls = []
    monkeypatch.setattr(webbrowser, "open", urls.append)
    return urls


def test_a_browser_is_opened_where_there_is_a_desktop(run, opened, monkeypatch):
    run("ui", "--port=18011")
    assert opened == []
    run("ui", "--port=18011", "--open")
    assert opened == ["http://127.0.0.1:18011/ui/"]
    monkeypatch.setenv("DISPLAY", ":0")
    run("ui", "--port=18011", "--no-open")
    assert len(opened) == 1


def test_the_scenes_are_those_of_the_demo():
    told = list(gateway_app.scenes())
    assert [one.lang for one in told] == list(scene.NAMES)
    for ours, played in zip(told, map(scene.load, scene.NAMES), strict=True):
        assert [one.query for one in ours.questions] == [one.query for one in played.turns]
        last, asked = ours.questions[-1], played.turns[-1]
        assert last.turns == tuple(played.conversation(len(played.turns) - 1))
        assert [memory.id for memory in last.memories] == list(asked.candidates)
        assert set(last.relevant) == asked.relevant <= {memory.id for memory in last.memories}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://:secret@h:1/0", "redis://h:1/0"),
        ("rediss://u:secret@h:1/2?ssl_keyfile=x", "rediss://h:1/2"),
        ("sentinel://u:secret@a,b:2/m/0?sentinel_password=secret", "sentinel://a,b:2/m/0"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock"),
    ],
)
def test_where_redis_is_is_told_without_its_password(url, shown):
    assert redis_urls.shown(url) == shown
