"""The sample redis.conf and its users: each can do its work to the end, and nothing of another's."""

import asyncio
import re
from pathlib import Path

import pytest
from celery import Celery
from redis import Redis
from redis.exceptions import AuthenticationError, NoPermissionError, ResponseError

from memsift_ops import services, valkey
from memsift_producer import Reranker
from memsift_schemas import Source, SystemClock
from memsift_schemas.keys import warm_key
from memsift_schemas.redis_link import connect
from memsift_workers.decks.deck import Deck, Entry
from memsift_workers.decks.store import DeckStore, Held, Session
from memsift_workers.drain.presence import Presence
from memsift_workers.drain.taking import Taking
from memsift_workers.flow.quarantine import Quarantine
from memsift_workers.flow.rescue import Rescue
from memsift_workers.flow.shared_limit import SharedLimit, runtime_key
from tests.integration.servers import Servers, answers, until
from tests.integration.test_worker import live_job, raw
from tests.samples import memories
from tests.schemas.metrics.test_serving import scraped

pytestmark = pytest.mark.stack

OPS = Path(__file__).parents[2] / "ops"
QUEUE = "memsift.rerank"
PASSWORDS = dict(re.findall(r"^user memsift-(\w+) on >(\S+)", (OPS / "redis-acl.conf").read_text(), re.M))


class Sample:
    """A server on the sample files, with one more user who may do anything."""

    def __init__(self, servers):
        self.servers = servers
        self.port = valkey.free_port()
        self.folder = servers.folder / str(self.port)
        config = servers.folder / "redis.conf"
        sample = (OPS / "redis.conf").read_text()
        assert "\ninclude redis-acl.conf" in sample
        absolute = sample.replace("include redis-acl.conf", f"include {OPS / 'redis-acl.conf'}")
        config.write_text(absolute + "\nuser admin on >admin ~* &* +@all\n")
        child = self.servers.valkey(self.port, config=config)
        until(lambda: answers(self.url("admin")), child=child)

    def url(self, user):
        name, password = ("admin", "admin") if user == "admin" else (f"memsift-{user}", PASSWORDS[user])
        return f"redis://{name}:{password}@127.0.0.1:{self.port}/0"

    def client(self, user):
        return Redis.from_url(self.url(user), socket_timeout=5)


@pytest.fixture(scope="module")
def sample(tmp_path_factory):
    one = Sample(Servers(tmp_path_factory.mktemp("sample")))
    yield one
    one.servers.stop()


@pytest.fixture(scope="module")
def worker(sample):
    return sample.servers.worker(sample.url("worker"), QUEUE, seen_by=sample.url("operator"))


@pytest.fixture
def clean(sample):
    """Keys of the last test are gone, and what was denied to it is forgotten; workers stay."""
    admin = sample.client("admin")
    for key in admin.keys(f"{QUEUE}*"):
        if b":worker:" not in key:
            admin.delete(key)
    admin.acl_log_reset()
    return admin


async def rank(sample, **settings):
    url = sample.url("producer")
    async with Reranker.from_url(url, queue=QUEUE, deadline_ms=5_000, **settings) as reranker:
        return await reranker.rerank(query="Where is the spare key?", memories=memories(5))


async def test_producer_and_worker_do_their_whole_work_and_nothing_is_denied(sample, clean, worker):
    """Given real ones under their users, when jobs, events, heartbeats and control run, then all pass."""
    for reranking in await asyncio.gather(*(rank(sample) for _ in range(5))):
        assert (reranking.source, reranking.cause) == (Source.MODEL, None)
    app = Celery(broker=sample.url("operator"), set_as_current=False)
    queues = await asyncio.to_thread(app.control.inspect(timeout=5).active_queues)
    first, own = (queue["name"] for queue in next(iter(queues.values())))
    assert first == QUEUE
    assert own.startswith(f"{QUEUE}:own:")
    denied = [(entry["username"], entry["reason"], entry["object"]) for entry in clean.acl_log()]
    assert denied == []


@pytest.mark.parametrize("settings", [{"ranker": "jev", "jev_idf_key": "k"}, {"rescue": "1"}], ids=str)
async def test_what_a_worker_does_besides_is_allowed(sample, clean, settings):
    """Given a ranker that counts words on Redis, or a worker that records its batches for rescue."""
    worker = sample.servers.worker(sample.url("worker"), QUEUE, seen_by=sample.url("operator"), **settings)
    try:
        ranked = [await rank(sample, prefilter_keep=5) for _ in range(4)]
        assert {(one.source, one.cause) for one in ranked} == {(Source.MODEL, None)}
        assert clean.acl_log() == []
    finally:
        worker.terminate()
        worker.wait(hurry=lambda: False)


async def test_a_workers_look_for_its_metrics_is_allowed(sample, clean):
    """Given one that serves metrics, then it shows memory and breaker, and nothing is denied."""
    port = valkey.free_port()
    told = {"seen_by": sample.url("operator"), "metrics_port": port}
    worker = sample.servers.worker(sample.url("worker"), QUEUE, **told)
    try:
        await rank(sample)
        breaker = ("memsift_breaker_open", (("queue", QUEUE),))
        found = until(lambda: breaker in (told := scraped(port)) and told, child=worker)
        assert found[breaker] == 0
        assert found["memsift_redis_memory_used_bytes", ()] > 0
        assert found["memsift_queue_jobs", (("list", "queue"), ("queue", QUEUE))] == 0
        assert clean.acl_log() == []
    finally:
        worker.terminate()
        worker.wait(hurry=lambda: False)


@pytest.fixture
async def worker_link(sample, clean):
    client = connect(sample.url("worker"), client_name="test", connections=4)
    yield client
    await client.aclose()


async def test_a_worker_may_give_back_a_dead_ones_jobs(worker_link, clean):
    dead, alive = (Rescue(worker_link, QUEUE, SystemClock()) for _ in range(2))
    whole = live_job(f"{QUEUE}:reply:t")
    # As what a worker has popped whose lease has run out; a queue would be drained by the module's worker.
    clean.rpush(f"{QUEUE}:rescue:{dead._me}:staging", raw(whole, QUEUE))
    clean.sadd(f"{QUEUE}:rescue", dead._me)
    assert await alive.look() == 1
    assert clean.acl_log() == []


async def test_workers_may_share_a_limit_and_a_quarantine(worker_link, clean):
    key = runtime_key(QUEUE, "http://runtime")
    shared = SharedLimit(worker_link, key, limit=lambda: 4, clock=SystemClock())
    (lease,) = [lease async for lease in shared.enter(3, until=SystemClock().time() + 5)]
    assert clean.zrange(key, 0, -1) == [lease.member.encode()]
    pipeline = worker_link.pipeline(transaction=False)
    lease.give_back(pipeline)
    assert await pipeline.execute() == [1]
    quarantine = Quarantine(worker_link, QUEUE, SystemClock())
    assert [await quarantine.blame(live_job()) for _ in range(2)] == [1, 2]
    await Quarantine(worker_link, QUEUE, SystemClock()).refresh()
    assert clean.acl_log() == []


async def test_decks_are_kept_by_workers_and_dropped_by_frontends(sample, worker_link, clean):
    store = DeckStore(worker_link, queue=QUEUE, ring=None, ttl_s=60)
    session, deck = Session("u", "s"), Deck((Entry("m1", "line", 1, 5),), turn=1)
    assert await store.save([(session, Held(Deck()), deck)]) == [True]
    async with Reranker.from_url(sample.url("producer"), queue=QUEUE) as reranker:
        await reranker.forget(user="u", memories=["m1"])
    assert await store.load([session]) == [Held(Deck())]
    assert await store.save([(session, Held(Deck()), deck)]) == [False]
    assert clean.acl_log() == []


def test_a_job_can_be_pushed_counted_and_given_a_life(sample, clean):
    # In one transaction, so that no worker has it meanwhile.
    pipeline = sample.client("producer").pipeline()
    for key in (QUEUE, f"{QUEUE}:own:r"):
        pipeline.lpush(key, b"job").pexpire(key, 60_000).pttl(key).llen(key).lindex(key, -1)
    assert pipeline.execute() == [1, True, 60_000, 1, b"job"] * 2


async def test_own_lists_and_warm_ups_are_allowed(sample, clean, worker_link):
    """Given two runtimes, of whose ranker no real worker knows, then their lists are filled and emptied."""
    runtimes = [
        Presence(worker_link, QUEUE, hostname=f"w{name}", clock=SystemClock(), runtime=name) for name in "ab"
    ]
    await asyncio.gather(*(one.tell({"serves": ["sham>local"], "limit": 4}) for one in runtimes))
    asked = {"user": "u", "session": "s", "memories": memories(3), "ranker": "sham>local"}
    async with Reranker.from_url(sample.url("producer"), queue=QUEUE, deadline_ms=300) as reranker:
        await reranker.rerank(query="Where is the spare key?", **asked)
        assert await reranker.warm(**asked) is False  # behind the job that waits
        taken = [await Taking(worker_link, QUEUE, name).at_once(1) for name in "ab"]
        assert sorted(map(len, taken)) == [0, 1]
        async with asyncio.timeout(5):
            while not await reranker.warm(**asked):  # until the list has been seen empty
                await asyncio.sleep(0.05)
    assert await worker_link.blmpop(1, 2, *(warm_key(QUEUE, name) for name in "ab"), direction="RIGHT")
    await asyncio.gather(*(one.leave() for one in runtimes))
    assert clean.acl_log() == []


def test_marks_breaker_and_presence(sample, clean):
    producer, worker = sample.client("producer"), sample.client("worker")
    producer.set(f"{QUEUE}:cancel:j1", 1, px=1000)
    assert worker.mget([f"{QUEUE}:cancel:j1", f"{QUEUE}:cancel:j2"]) == [b"1", None]
    producer.hset(f"{QUEUE}:breaker", mapping={"failures": 1})
    producer.set(f"{QUEUE}:breaker:probe", 1, nx=True, px=1000)
    worker.set(f"{QUEUE}:worker:w1", "{}", ex=5)
    assert producer.get(f"{QUEUE}:worker:w1") == b"{}"


def test_what_a_script_does_is_what_its_caller_may(sample, clean):
    """Given a bounded push by a script, then it passes; given one that pops, then it is refused."""
    producer = sample.client("producer")
    push = "if redis.call('LLEN', KEYS[1]) < 9 then return redis.call('LPUSH', KEYS[1], ARGV[1]) end"
    assert producer.register_script(push)(keys=[QUEUE], args=[b"job"]) == 1
    for pop in ("RPOP", "LRANGE"):
        arguments = "" if pop == "RPOP" else ", 0, -1"
        with pytest.raises((NoPermissionError, ResponseError), match=r"(?i)permission|ACL"):
            producer.eval(f"return redis.call('{pop}', KEYS[1]{arguments})", 1, QUEUE)
    worker = sample.client("worker")
    give_back = "return redis.call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT')"
    worker.rpush(f"{QUEUE}:rescue:w1", b"lost")
    assert worker.eval(give_back, 2, f"{QUEUE}:rescue:w1", QUEUE) == b"lost"


PRODUCER_MAY_NOT = [
    *[("RPOP", QUEUE), ("LPOP", QUEUE), ("LMPOP", 1, QUEUE, "RIGHT"), ("BLMPOP", 0.1, 1, QUEUE, "RIGHT")],
    *[("LRANGE", QUEUE, 0, -1), ("LMOVE", QUEUE, f"{QUEUE}:reply:mine", "LEFT", "LEFT"), ("DUMP", QUEUE)],
    *[("DEL", QUEUE), ("LTRIM", QUEUE, 1, 0), ("SET", QUEUE, 1), ("RENAME", QUEUE, f"{QUEUE}:reply:mine")],
    *[("KEYS", "*"), ("SCAN", 0), ("RANDOMKEY",), ("SORT", QUEUE), ("OBJECT", "ENCODING", "other")],
    *[
        ("GET", "other"),
        ("SET", "other", 1),
        ("SET", f"{QUEUE}:worker:w1", "{}"),
        ("GET", f"{QUEUE}:jev:a:df"),
        ("GET", f"{QUEUE}:deck:a:b"),
        ("SADD", f"{QUEUE}:decks:a", "x"),
    ],
    *[("FLUSHALL",), ("FLUSHDB",), ("CONFIG", "GET", "*"), ("MONITOR",), ("SHUTDOWN",), ("SWAPDB", 0, 1)],
    *[("CLIENT", "LIST"), ("CLIENT", "KILL", "TYPE", "normal"), ("SLOWLOG", "GET"), ("ACL", "LIST")],
    *[("FUNCTION", "FLUSH"), ("SCRIPT", "FLUSH"), ("SUBSCRIBE", "/0.celery.pidbox"), ("PUBLISH", "x", "y")],
    *[("LRANGE", f"{QUEUE}.celery", 0, -1), ("HGETALL", "unacked"), ("INFO",)],
    *[("RPOP", f"{QUEUE}:own:r"), ("LRANGE", f"{QUEUE}:own:r", 0, -1), ("DEL", f"{QUEUE}:own:r")],
    *[("ZRANGE", f"{QUEUE}:own", 0, -1), ("RPOP", f"{QUEUE}:warm"), ("LINDEX", f"{QUEUE}:warm:r", -1)],
]
WORKER_MAY_NOT = [
    *[("CONFIG", "GET", "*"), ("CONFIG", "SET", "save", "1 1"), ("FLUSHALL",), ("MONITOR",), ("SHUTDOWN",)],
    *[("KEYS", "*"), ("SCAN", 0), ("RANDOMKEY",), ("BGSAVE",), ("REPLICAOF", "h", 1), ("ACL", "LIST")],
    *[
        ("LRANGE", f"{QUEUE}:reply:a", 0, -1),
        ("LPOP", f"{QUEUE}:reply:a"),
        ("HSET", f"{QUEUE}:breaker", "state", "open"),
    ],
    *[("GET", "celery-task-meta-1"), ("GET", "other"), ("SET", "other", 1), ("PUBLISH", "other", "x")],
    *[("FUNCTION", "FLUSH"), ("SCRIPT", "FLUSH"), ("CLIENT", "LIST"), ("SLOWLOG", "GET")],
]
OPERATOR_MAY_NOT = [
    *[("FLUSHALL",), ("CONFIG", "SET", "save", "1 1"), ("SHUTDOWN",), ("MONITOR",), ("LPOP", QUEUE)],
    *[
        ("LPUSH", QUEUE, "x"),
        ("DEL", QUEUE),
        ("ACL", "SETUSER", "x"),
        ("EVAL", "return redis.call('LPUSH', KEYS[1], 1)", 1, QUEUE),
    ],
]


@pytest.mark.parametrize(
    ("user", "command"),
    [("producer", command) for command in PRODUCER_MAY_NOT]
    + [("worker", command) for command in WORKER_MAY_NOT]
    + [("operator", command) for command in OPERATOR_MAY_NOT],
    ids=str,
)
def test_what_each_may_not(sample, clean, user, command):
    with pytest.raises(NoPermissionError):
        sample.client(user).execute_command(*command)


def test_nobody_comes_in_without_a_name(sample, clean):
    with pytest.raises(AuthenticationError):
        Redis(port=sample.port).get("x")


def test_the_operator_sees_workers_and_depth(sample, clean, worker):
    operator = sample.client("operator")
    assert operator.llen(QUEUE) == 0
    assert services.ready_workers(sample.url("operator"), QUEUE)
    assert operator.info("memory")["used_memory"] > 0


def test_nothing_is_kept_and_a_full_server_says_so(sample, clean):
    config = clean.config_get("*")
    expected = {"save": "", "appendonly": "no", "maxmemory-policy": "noeviction", "repl-diskless-sync": "yes"}
    assert {name: config[name] for name in expected} == expected
    clean.config_set("maxmemory", 1)
    try:
        with pytest.raises(ResponseError, match="maxmemory"):
            sample.client("producer").lpush(QUEUE, "job")
    finally:
        clean.config_set("maxmemory", config["maxmemory"])


def test_no_file_is_written_not_even_on_the_way_to_a_replica(sample, clean):
    """Given a replica on the same file, when it has copied all, then neither has written a file."""
    port = valkey.free_port()
    replica = sample.servers.valkey(
        port,
        config=sample.folder.parent / "redis.conf",
        mode=("--replicaof", f"127.0.0.1 {sample.port}", "--masteruser", "admin", "--masterauth", "admin"),
    )
    clean.set(f"{QUEUE}:reply:copied", "x" * 1000)
    there = Redis.from_url(sample.url("admin").replace(str(sample.port), str(port)), socket_timeout=5)
    until(lambda: answers(sample.url("admin").replace(str(sample.port), str(port))), child=replica)
    until(lambda: there.exists(f"{QUEUE}:reply:copied"), child=replica)
    for folder in (sample.folder, sample.folder.parent / str(port)):
        assert list(folder.iterdir()) == []


def test_no_sample_password_looks_like_one(sample):
    assert all(password.startswith("CHANGE-ME") for password in PASSWORDS.values())
    assert set(PASSWORDS) == {"producer", "worker", "operator"}
