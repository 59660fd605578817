"""The log as labelled data, usable by `memsift eval` to the end; and its calls ranked again."""

import json

import pytest

from memsift_ops import datasets
from memsift_producer import Reranker
from tests.ops.decisions.made_up import GAP, KEYS, SECRET, decision, sealed, told, write
from tests.samples import memories


@pytest.fixture
def keyed(monkeypatch):
    monkeypatch.setenv("MEMSIFT_DECISION_LOG_TEXT_KEYS", KEYS)


@pytest.fixture
def convert(run, tmp_path):
    def convert(*lines):
        log = write(tmp_path / "log", *lines)
        return run("convert", str(log), "--to", str(tmp_path / "sets"), "--name", "ours", "--json")

    return convert


def test_calls_with_feedback_become_labelled_questions(convert, keyed, tmp_path):
    lines = [
        sealed("job-0001"),
        sealed("job-0002"),
        sealed("job-0003"),
        sealed("job-0004", query="Nobody said anything of this"),
        decision("job-0005"),
        sealed("job-0006"),
        told("job-0001", used=("m0",), missed=("m4", "elsewhere")),
        told("job-0002", used=("m1",)),
        told("job-0002", used=("m2",)),
        told("job-0003"),
        told("job-0005", used=("m0",)),
        told("job-0006", missed=("no id at all",)),
        told("job-9999", used=("m0",)),
        GAP,
        b"torn",
    ]
    code, out, err = convert(*lines)
    assert code == 0
    found = {one.id: one for one in datasets.load(tmp_path / "sets", "ours", unanswerable=True)}
    gold = {key: one.gold for key, one in found.items()}
    # The last word on a call counts; one that used nothing has no answer in the store
    assert gold == {
        "job-0001": frozenset({"m0", "m4", "elsewhere"}),
        "job-0002": frozenset({"m2"}),
        "job-0003": frozenset(),
    }
    assert found["job-0001"].turns[0].text == "We are at the cabin."
    assert json.loads(out)["unanswerable"] == 1
    for note in (
        "1 calls without feedback",
        "1 calls whose text was not kept",
        "1 calls with an id that no set can hold",
        "3 lines that the frontends could not write",
        "1 lines that cannot be read",
    ):
        assert note in err
    assert SECRET not in out + err


def test_what_cannot_be_converted_says_why(convert, monkeypatch):
    code, _, err = convert(sealed())
    assert (code, "none of 1 calls got feedback" in err) == (2, True)
    code, _, err = convert(decision(), told(used=("m0",)))
    assert (code, "its text was not kept" in err) == (2, True)
    code, _, err = convert(sealed(), told(used=("m0",)))
    assert (code, "set MEMSIFT_DECISION_LOG_TEXT_KEYS to the keys" in err) == (2, True)
    monkeypatch.setenv("MEMSIFT_DECISION_LOG_TEXT_KEYS", "k2:" + "6b" * 32)
    code, _, err = convert(sealed(), told(used=("m0",)))
    assert (code, "sealed with the key k1" in err) == (2, True)


async def logged(folder, url, queue):
    """Real calls, logged with their text, and feedback on each."""
    settings = {"decision_log": str(folder), "decision_log_text_keys": KEYS, "deadline_ms": 300}
    async with Reranker.from_url(url, queue=queue, **settings) as reranker:
        for query in ("Where is the spare key?", "Where did Jonas move?", "What is Mara allergic to?"):
            given = memories(6)
            result = (await reranker.rerank(query=query, memories=given, user="mara")).result
            best = max(given, key=lambda one: len(set(one.text.split()) & set(query.strip("?").split())))
            await reranker.feedback(result.job_id, used=[best.id])


@pytest.fixture
async def log(tmp_path, valkey_url, queue):
    await logged(tmp_path / "log", valkey_url, queue)
    return tmp_path / "log"


@pytest.mark.stack
def test_a_log_is_evaluated_to_the_end(log, keyed, run, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMSIFT_REDIS_URL", "redis://127.0.0.1:1/0")
    sets = str(tmp_path / "sets")
    assert run("convert", str(log), "--to", sets, "--name", "ours")[0] == 0
    code, out, err = run("eval", "--data", sets, "--set", "ours", "--ranker", "prefilter,jev", "--json")
    assert code == 0, err
    found = json.loads(out)["sets"]["ours"]
    assert found["jev"]["n"] == found["prefilter"]["n"] == 3
    # What was evaluated is no user's call: nothing of it was logged
    assert sum(line.count(b'"kind":"decision"') for line in map(bytes, [read_all(log)])) == 3


def read_all(folder):
    return b"".join(path.read_bytes() for path in folder.iterdir())


@pytest.mark.stack
def test_calls_are_ranked_again_by_another_ranker(log, keyed, run, monkeypatch):
    monkeypatch.setenv("MEMSIFT_REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setenv("MEMSIFT_DECISION_LOG", str(log))
    before = read_all(log)
    code, out, err = run("replay", str(log), "--ranker", "jev", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert (found["ranker"], found["jobs"], found["hit_rate"]["jobs"]) == ("jev", 3, 3)
    assert found["agreement"]["tau"] < 1
    assert {one["job"] for one in found["differences"]} <= {
        json.loads(line)["job"] for line in before.splitlines()
    }
    assert read_all(log) == before


def test_the_same_settings_rank_the_same_and_others_differ(log, keyed, run, monkeypatch):
    code, out, _ = run("replay", str(log), "--ranker", "prefilter", "--json")
    same = json.loads(out)
    assert (code, same["agreement"]["tau"], same["differences"]) == (0, 1.0, [])
    assert same["hit_rate"]["then"] == same["hit_rate"]["now"]
    monkeypatch.setenv("MEMSIFT_WEIGHT_VECTOR", "0")
    monkeypatch.setenv("MEMSIFT_WEIGHT_KEYWORD", "0")
    code, out, _ = run("replay", str(log), "--ranker", "prefilter")
    assert code == 0
    assert "Kendall's tau" in out
    assert "of 3 jobs with feedback" in out
    code, out, _ = run("replay", str(log), "--ranker", "prefilter", "--json", "--limit", "2")
    assert json.loads(out)["jobs"] == 2
    assert json.loads(out)["agreement"]["tau"] < 1


@pytest.mark.parametrize(
    ("lines", "told_why"),
    [
        ([decision()], "none of 1 calls can be ranked again: its text was not kept"),
        ([GAP], "the log holds no such call"),
        ([sealed(keys="k2:" + "6b" * 32)], "sealed with the key k2"),
    ],
)
def test_what_cannot_be_ranked_again_says_why(run, tmp_path, keyed, lines, told_why):
    log = write(tmp_path / "log", *lines)
    code, _, err = run("replay", str(log), "--ranker", "prefilter")
    assert (code, told_why in err) == (2, True), err


def test_a_ranker_that_is_none_or_two_is_refused(run, tmp_path):
    log = str(write(tmp_path / "log", sealed()))
    assert run("replay", log, "--ranker", "oracle")[0] == 2
    assert "one ranker" in run("replay", log, "--ranker", "jev,local")[2]
