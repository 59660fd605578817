"""Celery's remote control on a real worker: what it shows, what it does, and what it refuses."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pytest
from celery import Celery
from redis import Redis

from memsift_ops import services, valkey
from memsift_ops.stack import Stack
from memsift_schemas import message
from memsift_schemas.keys import cancel_key, own_key, worker_key
from tests.integration.conftest import start
from tests.integration.servers import until
from tests.integration.test_worker import live_job as job_of_somebody
from tests.integration.test_worker import raw, replies

pytestmark = pytest.mark.stack

SECRET = "xyzzy-private"


def live_job(reply_to, **fields):
    """A job that the worker cannot have answered before."""
    return job_of_somebody(reply_to, user=uuid.uuid4().hex, **fields)


@pytest.fixture(scope="module")
def worker():
    """One for all of this module; each test leaves it as it was."""
    queue = f"test:{uuid.uuid4().hex[:12]}"
    with Stack(queue) as stack:
        yield start(stack, queue, scripted_ms=300, batch_max=4, batch_wait_ms=0)


@pytest.fixture(scope="module")
def control(worker):
    """A stock Celery client."""
    app = Celery("somebody-elses", broker=worker.url)
    # A worker takes jobs a moment before Celery listens to commands.
    until(lambda: app.control.ping(timeout=1))
    yield app.control
    app.close()


@pytest.fixture
def redis_(worker):
    with Redis.from_url(worker.url) as client:
        yield client


@pytest.fixture
def tell(control):
    """Send a command; the one answer."""
    return lambda command, **arguments: ask(control, command, **arguments)


def ask(control, command, **arguments):
    """The one worker's answer, as soon as it is there; `control.inspect` waits for more of them."""
    (reply,) = control.broadcast(command, arguments=arguments, reply=True, timeout=5, limit=1)
    ((_, answer),) = reply.items()
    return answer


def stats(control):
    return ask(control, "memsift_stats")["ok"]


def card(redis, worker):
    (raw_card,) = services.cards(redis, worker.queue).values()
    return json.loads(raw_card)


def test_active_shows_the_jobs_being_ranked_by_ids_and_counts(worker, control, redis_, mailbox):
    # Given a batch that takes its time
    jobs = [live_job(mailbox(worker.queue), query=f"{SECRET} {at}?") for at in range(4)]
    redis_.lpush(worker.queue, *(raw(one, worker.queue) for one in jobs))
    # When somebody looks
    found = until(lambda: ask(control, "active", safe=True))
    # Then the jobs are there in Celery's form, and no word of theirs
    assert {one["id"] for one in found} <= {one.id for one in jobs}
    assert {one["name"] for one in found} == {message.TASK_NAME}
    assert found[0]["kwargs"] == "{candidates: 6, turns: 0, top_k: 3}"
    assert {"args", "hostname", "time_start", "acknowledged", "delivery_info", "worker_pid"} <= found[
        0
    ].keys()
    assert SECRET not in str(found)
    assert len(replies(redis_, mailbox(worker.queue), 4)) == 4
    assert ask(control, "active", safe=True) == []


def test_stats_hold_the_drains_numbers_where_flower_looks_for_them(worker, control, redis_, mailbox):
    before = stats(control)["causes"].get("ranked", 0)
    redis_.lpush(worker.queue, *(raw(live_job(mailbox(worker.queue)), worker.queue) for _ in range(3)))
    replies(redis_, mailbox(worker.queue), 3)
    told = until(lambda: (s := ask(control, "stats"))["memsift"]["causes"].get("ranked") == before + 3 and s)
    assert told["memsift"]["state"] == "draining"
    assert told["memsift"]["limits"]["batch_max"] == 4
    assert told["memsift"]["latency_ms"]["p50"] >= 300
    assert told["total"] == {message.TASK_NAME: sum(told["memsift"]["causes"].values())}
    assert told["pool"]["max-concurrency"] == told["memsift"]["limits"]["jobs_at_once"]


def test_a_paused_worker_takes_nothing_gives_its_own_list_away_and_answers(
    worker, control, redis_, tell, mailbox
):
    # Given a worker with a list of its own, which is paused
    runtime = card(redis_, worker)["own"]
    assert tell("drain_pause")["ok"].startswith("paused")
    try:
        until(lambda: card(redis_, worker)["paused"])
        assert card(redis_, worker)["own"] == ""
        time.sleep(0.6)  # the last pop has ended
        # When jobs come to the queue and to its own list
        own = own_key(worker.queue, runtime)
        for key in (worker.queue, own):
            redis_.lpush(key, raw(live_job(mailbox(worker.queue)), worker.queue))
        # Then all of them wait where others find them, and the worker answers, with nothing that it consumes
        until(lambda: redis_.llen(worker.queue) == 2)
        assert redis_.llen(own) == 0
        assert stats(control)["state"] == "paused"
        assert ask(control, "ping") == {"ok": "pong"}
        assert ask(control, "active_queues") == []
    finally:
        assert tell("add_consumer", queue=worker.queue)["ok"].startswith("resumed")
    # When it is resumed, then they are ranked, and its list is its own again
    assert len(replies(redis_, mailbox(worker.queue), 2)) == 2
    until(lambda: card(redis_, worker)["own"])


def test_limits_change_live_and_the_answer_is_what_is_in_force(worker, control, redis_, tell, mailbox):
    told = tell("set_limits", changes=["batch_max=2", "batch_wait_ms=1.5", "concurrency=2"])["ok"]
    assert (told["batch_max"], told["batch_wait_ms"], told["jobs_at_once"]) == (2, 1.5, 2)
    try:
        # When more jobs come than that, then so many are ranked at once
        time.sleep(0.6)
        jobs = [live_job(mailbox(worker.queue)) for _ in range(6)]
        redis_.lpush(worker.queue, *(raw(one, worker.queue) for one in jobs))
        seen = until(lambda: ask(control, "active", safe=True))
        assert len(seen) <= 2
        assert len(replies(redis_, mailbox(worker.queue), 6)) == 6
        # A wrong one is refused with its name and its bounds, and nothing else is changed with it
        refused = tell("set_limits", batch_max=3, concurrency=0)["error"]
        assert "MEMSIFT_RUNTIME_CONCURRENCY" in refused
        assert "greater than or equal to 1" in refused
        assert "name=value" in tell("set_limits", changes=["batch_max"])["error"]
        assert tell("set_limits")["ok"]["batch_max"] == 2
        assert tell("pool_grow", n=3)["ok"].startswith("concurrency 2 -> 5 jobs")
        assert tell("pool_shrink", n=9)["error"].startswith("MEMSIFT_RUNTIME_CONCURRENCY")
    finally:
        tell("set_limits", batch_max=4, batch_wait_ms=0, concurrency=24)


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("pool_restart", {"reload": False}),
        ("autoscale", {"min": 1, "max": 3}),
        ("rate_limit", {"task_name": message.TASK_NAME, "rate_limit": "1/s"}),
        ("time_limit", {"task_name": message.TASK_NAME, "soft": 1, "hard": 2}),
        ("revoke_by_stamped_headers", {"headers": ["a=b"]}),
        ("add_consumer", {"queue": "another"}),
        ("cancel_consumer", {"queue": "another"}),
    ],
)
def test_what_would_lie_is_refused_in_words(worker, control, tell, command, arguments):
    answer = tell(command, **arguments)
    assert list(answer) == ["error"]
    assert "refused: " in answer["error"] or "drains" in answer["error"]
    assert "Traceback" not in answer["error"]
    assert stats(control)["state"] == "draining"


def test_a_revoked_job_is_dropped_wherever_it_waits(worker, redis_, tell, mailbox):
    # Given a job that waits for a worker that is paused
    tell("drain_pause")
    time.sleep(0.6)
    unwanted, wanted = live_job(mailbox(worker.queue)), live_job(mailbox(worker.queue))
    redis_.lpush(worker.queue, *(raw(one, worker.queue) for one in (unwanted, wanted)))
    # When it is revoked, as Flower's page of a task does
    assert tell("revoke", task_id=unwanted.id, terminate=True, signal="SIGKILL")["ok"]
    assert 0 < redis_.ttl(cancel_key(worker.queue, unwanted.id)) <= 60
    tell("drain_resume")
    # Then the other one alone is answered
    assert [one.job_id for one in replies(redis_, mailbox(worker.queue), 2, seconds=2)] == [wanted.id]


def test_events_are_switched_off_and_on(control, tell):
    assert tell("disable_events") == {"ok": "task events disabled"}
    assert tell("enable_events") == {"ok": "task events enabled"}


def celery(worker, *arguments):
    environment = {**os.environ, "MEMSIFT_REDIS_URL": worker.url, "MEMSIFT_QUEUE": worker.queue}
    command = [sys.executable, "-m", "celery", "-A", "memsift_workers.app", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_celerys_command_line_knows_the_commands_of_ours(worker):
    shown = celery(worker, "control", "--json", "set_limits", "batch_max=4")
    (answer,) = json.loads(shown.stdout)
    assert next(iter(answer.values()))["ok"]["batch_max"] == 4
    asked = celery(worker, "inspect", "--json", "memsift_stats")
    assert next(iter(json.loads(asked.stdout).values()))["ok"]["queue"] == worker.queue
    assert "drain_pause" in celery(worker, "control", "--list").stdout


@pytest.fixture(scope="module")
def flower(worker):
    """A real one on that worker; its API is open on loopback."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLOWER_UNAUTHENTICATED_API", "true")
        return worker.stack.start_flower(valkey.free_port())


def post(url):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_flowers_api_steers_the_drain(worker, control, redis_, flower):
    # Given a Flower that has seen the worker
    name = next(iter(control.inspect(timeout=2).ping()))

    def api(path, **query):
        return post(f"{flower}/api/worker/{path}/{name}?{urllib.parse.urlencode(query)}")

    until(lambda: api("queue/add-consumer", queue=worker.queue)[0] == 200)
    # When its user cancels and adds the consumer, then the worker is paused, and resumed
    status, said = api("queue/cancel-consumer", queue=worker.queue)
    assert (status, "paused" in said) == (200, True)
    until(lambda: card(redis_, worker)["paused"])
    assert api("queue/add-consumer", queue=worker.queue)[0] == 200
    until(lambda: not card(redis_, worker)["paused"])
    # And the pool's size is the concurrency
    assert api("pool/grow", n=2)[0] == 200
    assert stats(control)["limits"]["concurrency"] == 26
    assert api("pool/shrink", n=2)[0] == 200
    # And a restart of the pool is refused in our words
    status, said = api("pool/restart")
    assert (status, "the drain has no pool" in said) == (403, True)
    with urllib.request.urlopen(f"{flower}/api/workers?refresh=1&workername={name}", timeout=10) as answer:
        told = json.loads(answer.read())[name]
    assert told["stats"]["memsift"]["state"] == "draining"
    assert told["active"] == []
    assert worker_key(worker.queue, name).encode() in redis_.keys(f"{worker.queue}:worker:*")
