"""`memsift top` on a real worker: in a terminal, in a pipe, as JSON lines."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time

import pytest
from redis import Redis

from memsift_ops import valkey
from tests.integration.servers import answers, until
from tests.integration.test_worker import live_job, raw, replies

pytestmark = pytest.mark.stack

# Makes standard input the terminal whose Ctrl-C reaches this process, then becomes the program.
ON_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.fixture
def environment(queue):
    return lambda url: {
        **os.environ,
        "MEMSIFT_REDIS_URL": url,
        "MEMSIFT_QUEUE": queue,
        "COLUMNS": "80",
        "LINES": "24",
        "TERM": "xterm",
    }


def top(*arguments):
    return [sys.executable, "-m", "memsift_ops", "top", *arguments]


def read_until(number, words, seconds=20):
    """What a terminal shows, until all words came."""
    shown, until_ = "", time.monotonic() + seconds
    while not all(word in shown for word in words) and time.monotonic() < until_:
        if select.select([number], [], [], 0.2)[0]:
            try:
                shown += os.read(number, 65_536).decode(errors="replace")
            except OSError:  # the other side is closed
                break
    return shown


@pytest.fixture
def worked(servers, valkey_url, queue, mailbox):
    """A worker that has ranked four jobs and refused one."""
    servers.worker(valkey_url, queue, scripted_ms=20)
    with Redis.from_url(valkey_url) as redis:
        jobs = [live_job(mailbox(queue), user=str(at)) for at in range(4)]
        jobs.append(live_job(mailbox(queue), ranker="oracle"))
        redis.lpush(queue, *(raw(one, queue) for one in jobs))
        assert len(replies(redis, mailbox(queue), 5)) == 5


def test_one_look_in_a_pipe_fits_into_eighty_columns(worked, environment, valkey_url, queue):
    def look(*arguments):
        return subprocess.run(
            top("--once", *arguments),
            env=environment(valkey_url),
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        ).stdout

    told = until(lambda: (found := json.loads(look("--json")))["causes"] and found)
    assert told["causes"] == {"ranked": 4, "unknown_ranker": 1}
    ((name, card),) = told["workers"].items()
    assert (told["healthy"], told["queue"]["depth"], told["causes_per_s"], card["paused"]) == (
        True,
        0,
        None,
        False,
    )
    assert card["latency_ms"]["p50"] > 0
    shown = look()
    assert max(map(len, shown.splitlines())) <= 80
    for words in (queue, name.split("@")[0], "breaker", "closed", "ranked 4, unknown_ranker 1", "drains"):
        assert words in shown
    assert "\x1b" not in shown


def test_json_lines_come_one_by_one_also_while_redis_is_away(servers, environment, queue, mailbox):
    # Given a worker, and somebody who watches
    port = valkey.free_port()
    url = valkey.url(port)
    server = servers.valkey(port)
    until(lambda: answers(url), child=server)
    servers.worker(url, queue)
    watching = subprocess.Popen(
        top("--json", "--interval=0.3"), env=environment(url), stdout=subprocess.PIPE, text=True
    )
    assert watching.stdout is not None
    lines = (json.loads(line) for line in watching.stdout)
    assert next(lines)["causes_per_s"] is None
    # When jobs are ranked, then what changed is told as a rate
    with Redis.from_url(url) as redis:
        redis.lpush(queue, *(raw(live_job(mailbox(queue)), queue) for _ in range(8)))
        replies(redis, mailbox(queue), 8)
    assert next(line for line in lines if (line["causes_per_s"] or {}).get("ranked"))["healthy"]
    # When Redis goes away, then that is told, and it goes on
    os.killpg(server.pid, signal.SIGKILL)
    assert "Redis does not answer" in next(line for line in lines if "error" in line)["error"]
    servers.valkey(port)
    assert "error" not in next(line for line in lines if "error" not in line)
    # When it is interrupted, then that is its end
    watching.send_signal(signal.SIGINT)
    assert watching.wait(10) == 0
    watching.stdout.close()


@pytest.mark.parametrize("key", ["q", "\x03"])
def test_in_a_terminal_it_is_live_and_a_key_ends_it(worked, environment, valkey_url, queue, key):
    ours, theirs = pty.openpty()
    shown = subprocess.Popen(
        [sys.executable, "-c", ON_TERMINAL, *top("--interval=0.2")],
        env=environment(valkey_url),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    assert "q or Ctrl-C ends" in read_until(ours, [queue, "access@", "a second)"])
    os.write(ours, key.encode())
    read_until(ours, ["\x1b[?1049l"])  # the terminal is as it was
    assert shown.wait(10) == 0
    os.close(ours)


def test_without_redis_one_look_fails_in_one_line(environment):
    ended = subprocess.run(
        top("--once"),
        env=environment("redis://127.0.0.1:1/0"),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.startswith("memsift: Redis does not answer")
