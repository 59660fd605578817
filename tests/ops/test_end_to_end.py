"""The commands as a person runs them, with real processes; without a model where none is needed."""

import json
import os
import re
import signal
import subprocess
import urllib.request

import pytest
import redis

from memsift_ops import services, valkey
from memsift_ops.stack import Stack
from tests.ops.processes import MEMSIFT, Command, gone, linux_only, marked

MEMORIES = [
    {"id": f"m{at}", "text": f"Mara wrote down thing number {at}.", "created_at": "2026-03-02T09:30:00+08:00"}
    for at in range(8)
]
ASK = {"query": "What is thing number 3?", "memories": MEMORIES, "top_k": 2}


def memsift(*arguments, **environment):
    command = (*MEMSIFT, *map(str, arguments))
    return subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=110, check=False
    )


@pytest.fixture(scope="module")
def scripted():
    """A running stack whose worker has no model; the environment that finds it."""
    with Stack("q:end-to-end") as running:
        url = running.start_valkey()
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("MEMSIFT_RUNTIME", "scripted")
            running.start_worker()
        yield {"MEMSIFT_REDIS_URL": url, "MEMSIFT_QUEUE": running.queue, "MEMSIFT_RUNTIME": "scripted"}


@pytest.fixture
def question(tmp_path):
    def question(**changes):
        path = tmp_path / "question.json"
        path.write_text(json.dumps({**ASK, **changes}))
        return path

    return question


@pytest.mark.stack
def test_rank_prints_a_result_of_the_running_stack(scripted, question):
    ended = memsift("rank", question(), "--json", **scripted)
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    ranked = [place["id"] for place in result["ranking"]] + result["pruned"]
    assert sorted(ranked) == sorted(memory["id"] for memory in MEMORIES)
    assert (result["source"], result["cause"]) == ("model", None)
    assert "temporary" not in ended.stderr


@pytest.mark.stack
def test_rank_for_people(scripted, question):
    ended = memsift("rank", question(), **scripted)
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert re.match(r"1\. m\d -?\d+\.\d{3} \[2026-03-02\] Mara wrote", lines[0])
    assert lines[-3].startswith("source: model (local")


@pytest.mark.stack
def test_rank_tells_when_the_job_is_too_large(scripted, question):
    turns = [{"role": "user", "text": "字" * 2000}] * 50
    ended = memsift("rank", question(turns=turns), "--json", **scripted)
    assert ended.returncode == 2
    (fault,) = json.loads(ended.stdout)["error"]["faults"]
    assert "over the limit of 262144" in fault["problem"]
    assert "字" not in ended.stderr


@pytest.mark.stack
def test_rank_says_when_the_prefilter_had_to_answer(scripted, question):
    ended = memsift("rank", question(), "--json", "--deadline", "0.001", **scripted)
    assert ended.returncode == 0
    assert json.loads(ended.stdout)["source"] == "prefilter"
    # Whether the job was even sent in that millisecond, or others were before it, the machine decides.
    why = r"The prefilter answered, because: (deadline|redis_unavailable|overloaded)\n$"
    assert re.search(why, ended.stderr)


@pytest.fixture
def small_set(tmp_path):
    """The folder of an evaluation set with six questions."""
    memories = [{**memory, "pool": "p", "created_at": "2026-03-02T09:30:00"} for memory in MEMORIES]
    ids = [memory["id"] for memory in MEMORIES]
    query = {
        "lang": "en",
        "now": "2026-03-04T00:00:00",
        "query": "What is thing number 3?",
        "context": [],
        "pool": "p",
        "gold": ["m3"],
        "candidates": ids,
        "similarity": [0.8] * len(ids),
    }
    queries = [{**query, "id": f"q{at}"} for at in range(6)]
    for name, rows in (("queries", queries), ("memories", memories)):
        (tmp_path / f"small.{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


@pytest.mark.stack
def test_rank_data_compares_side_by_side(scripted, small_set):
    ended = memsift("rank", "--data", small_set, "--set", "small", "--limit", "5", "--json", **scripted)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    (found,) = told["sets"]
    assert (told["runtime"], found["name"], found["queries"], found["by_model"]) == (
        "scripted",
        "small",
        5,
        5,
    )
    assert set(found["model"]) == set(found["prefilter"]) == {"hit@3", "MRR", "R@5", "P@1"}
    assert found["prefilter"]["MRR"] == 1.0

    for_people = memsift("rank", "--data", small_set, "--set", "small", **scripted)
    assert for_people.returncode == 0, for_people.stderr
    assert "small: MRR " in for_people.stdout
    assert "6 of 6 answered by the model" in for_people.stdout


@pytest.mark.stack
def test_rank_data_is_no_measure_when_the_model_did_not_answer(small_set):
    environment = {
        "MEMSIFT_REDIS_URL": valkey.url(valkey.free_port()),
        "MEMSIFT_RUNTIME": "scripted",
        "MEMSIFT_SCRIPTED_MS": "5000",
        "MEMSIFT_RANK_TIMEOUT_MS": "50",
    }
    ended = memsift("rank", "--data", small_set, "--set", "small", "--limit", "2", **environment)
    assert ended.returncode == 1
    assert "0 of 2 answered by the model" in ended.stdout
    assert "memsift: 2 queries were answered by the prefilter" in ended.stderr


@pytest.mark.stack
@linux_only
def test_rank_starts_a_stack_of_its_own_where_none_runs(question):
    environment, mark = marked()
    nobody = valkey.url(valkey.free_port())
    environment |= {"MEMSIFT_RUNTIME": "scripted", "MEMSIFT_REDIS_URL": nobody}
    ended = memsift("rank", question(), "--json", **environment)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["source"] == "model"
    assert "No ready worker at MEMSIFT_REDIS_URL: starting a temporary stack." in ended.stderr
    assert gone(mark)


@pytest.mark.stack
@linux_only
def test_the_demo_plays_on_a_worker_without_a_model_too():
    environment, mark = marked()
    ended = memsift("demo", "--scene", "zh", **environment, MEMSIFT_RUNTIME="scripted")
    assert ended.returncode == 0, ended.stderr
    assert "Turn 4  07:31  我今天晚上不在家" in ended.stdout
    assert "All 4 rankings came from the model." in ended.stderr
    assert gone(mark)


@pytest.mark.stack
@linux_only
def test_the_demo_fails_when_a_ranking_is_not_the_models():
    environment, mark = marked()
    environment |= {
        "MEMSIFT_RUNTIME": "scripted",
        "MEMSIFT_SCRIPTED_MS": "5000",
        "MEMSIFT_RANK_TIMEOUT_MS": "50",
    }
    ended = memsift("demo", "--json", "--scene", "en", **environment)
    assert ended.returncode == 1
    told = json.loads(ended.stdout)
    assert {turn["source"] for turn in told["turns"]} == {"prefilter"}
    assert {turn["cause"] for turn in told["turns"]} == {"runtime_timeout"}
    assert ended.stderr.endswith("memsift: 4 of 4 rankings came from the prefilter (runtime_timeout)\n")
    assert gone(mark)


@pytest.mark.stack
@linux_only
def test_the_demo_stops_everything_when_it_is_interrupted():
    environment, mark = marked()
    environment |= {"MEMSIFT_RUNTIME": "scripted", "MEMSIFT_SCRIPTED_MS": "60000"}
    running = subprocess.Popen(
        (*MEMSIFT, "demo"), env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    for line in running.stderr:
        if b"waiting for answer" in line:
            break
    running.send_signal(signal.SIGTERM)
    _, complaint = running.communicate(timeout=60)
    assert (running.returncode, complaint.strip()) == (143, b"")
    assert gone(mark)


class Up(Command):
    """`memsift up` with a worker that needs no model."""

    def __init__(self, *arguments):
        self.port = valkey.free_port()
        super().__init__("up", "--port", str(self.port), *arguments, MEMSIFT_RUNTIME="scripted")


@pytest.fixture
def up():
    started = []

    def up(*arguments):
        started.append(Up(*arguments))
        return started[-1]

    yield up
    for one in started:
        one.kill()


@pytest.mark.stack
@linux_only
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_up_ends_as_a_whole_with_one_signal(up, number):
    one = up("--no-flower")
    one.until_printed("clients: export MEMSIFT_REDIS_URL=")
    assert services.ready_workers(valkey.url(one.port), "memsift.rerank")[0].runtime == "scripted"
    one.process.send_signal(number)
    assert one.end() == (0, "")
    assert gone(one.mark)


@pytest.mark.stack
@linux_only
def test_up_serves_flower_and_prefixes_what_each_process_prints(up):
    one = up()
    line = one.until_printed("Flower  http://127.0.0.1:")
    assert services.flower_answers(int(line.rsplit(":", 1)[1]))
    assert any(re.match(r"\d\d:\d\d:\d\d worker  \| ", line) for line in one.printed)
    one.process.send_signal(signal.SIGINT)
    assert one.end() == (0, "")
    assert gone(one.mark)


@pytest.mark.stack
@linux_only
def test_up_serves_http_when_asked_to(up):
    one = up("--no-flower", "--gateway")
    served = one.until_printed("metrics http://127.0.0.1:")
    port = int(one.until_printed("gateway http://127.0.0.1:").rsplit(":", 1)[1])
    assert services.answers_http(port, "/ready")
    for line, has in (
        (served, "memsift_worker_info"),
        (one.until_printed("its metrics"), "memsift_producer_info"),
    ):
        with urllib.request.urlopen(line.split()[-1], timeout=5) as answer:
            assert has in answer.read().decode()
    one.process.send_signal(signal.SIGINT)
    assert one.end() == (0, "")
    assert gone(one.mark)


@pytest.mark.stack
def test_the_bench_of_the_gateway_counts_every_call():
    ended = memsift(
        "bench", "gateway", "--calls=32", "--rounds=1", "--at-once=60", "--deadline-ms=30000", "--json"
    )
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["burst"]["answered"], told["burst"]["in_time"], len(told["rounds"])) == (60, 60, 1)
    assert sum(told["burst"]["sources"].values()) == 60
    for_people = memsift("bench", "gateway", "--calls=16", "--rounds=1", "--at-once=9", "--deadline-ms=1")
    assert for_people.returncode == 1  # nothing is answered in a millisecond
    assert "9 calls at once: 9 answered, 0 by their deadline of 1 ms" in for_people.stdout


@pytest.mark.stack
@linux_only
def test_up_stops_the_rest_and_fails_when_a_process_dies(up):
    one = up("--no-flower")
    one.until_printed("clients: export MEMSIFT_REDIS_URL=")
    with redis.Redis.from_url(valkey.url(one.port)) as client:
        (key,) = client.keys("memsift.rerank:worker:*")
        worker = json.loads(client.get(key))["pid"]
    os.kill(worker, signal.SIGKILL)
    code, err = one.end()
    assert code == 1
    assert err.startswith("memsift: worker was ended by signal 9\n  | ")
    assert gone(one.mark)


@pytest.mark.stack
@linux_only
def test_up_killed_outright_leaves_nothing_behind(up):
    one = up("--no-flower")
    one.until_printed("clients: export MEMSIFT_REDIS_URL=")
    one.process.kill()
    assert gone(one.mark)


@pytest.mark.engine
@pytest.mark.timeout(300)
@linux_only
def test_the_demo_with_the_real_model():
    environment, mark = marked()
    environment.pop("MEMSIFT_RUNTIME", None)
    ended = memsift("demo", "--json", **environment)
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout)
    assert (told["runtime"], told["strategy"]) == ("embedded", "likelihood")
    turns = told["turns"]
    assert {turn["source"] for turn in turns} == {"model"}
    # From a session's second turn on, more than half of the prompt is served from the cache.
    later = [turn["cached_tokens"] / turn["prompt_tokens"] for turn in turns if turn["turn"] > 1]
    assert len(later) == 6
    assert min(later) > 0.5
    assert gone(mark)
