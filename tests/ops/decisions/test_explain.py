"""`memsift explain`: why each memory came in or stayed out."""

import json

import pytest

from tests.ops.decisions.made_up import GAP, KEYS, SECRET, decision, sealed, told, write


@pytest.fixture
def explain(run, tmp_path, monkeypatch):
    def explain(*arguments, lines=(), job="job-0001"):
        write(tmp_path / "log", *(lines or [decision()]))
        monkeypatch.setenv("MEMSIFT_DECISION_LOG", str(tmp_path / "log"))
        return run("explain", job, *arguments)

    return explain


FATES = {
    "m0": "in the prompt",
    "m1": "in the prompt",
    "m2": "out: relevance 0.10 is below 0.2",
    "m3": "out: place 4, and the prompt holds 2",
    "m4": "out: place 5 of the prefilter, and the best 4 go on",
    "m5": "out: says the same as m0, which is newer",
}


def test_each_memory_has_its_fate_and_the_call_its_story(explain):
    code, out, _ = explain(lines=[told(used=("m0",), missed=("m9",)), decision(), GAP])
    assert code == 0
    for id_, fate in FATES.items():
        assert f"{id_}: {fate}" in out
    assert "answered by the model (local m likelihood-1)" in out
    assert "0.6 similarity + 0.05 recency + 0.35 keywords" in out
    assert "score = prefilter's z-score + 1 x model" in out
    assert "feedback: used m0; missed m9" in out
    assert "similarity +1.000" in out


def test_the_beginning_of_an_id_will_do_where_it_names_one(explain):
    lines = [decision("job-0001"), decision("job-0002")]
    assert explain(lines=lines, job="job-0002")[0] == 0
    code, _, err = explain(lines=lines, job="job-")
    assert (code, "2 jobs begin so" in err) == (2, True)
    code, _, err = explain(lines=lines, job="nobody")
    assert (code, "no such job in the log" in err) == (2, True)
    code, _, err = explain(lines=lines, job="jo")
    assert (code, "at least 4 characters" in err) == (2, True)


def test_a_fallback_says_why(explain):
    fallback = decision(
        source="prefilter", cause="deadline", ranker="", model="", prompt_version="", fusion_weight=None
    )
    assert "answered by the prefilter, because: deadline" in explain(lines=[fallback])[1]


def test_json_has_all_of_it(explain):
    code, out, _ = explain("--json", lines=[decision(), told(used=("m1",))])
    found = json.loads(out)
    assert code == 0
    assert {one["id"]: one["fate"] for one in found["memories"]} == FATES
    assert (found["feedback"]["used"], found["cause"], found["prompt_version"]) == (
        ["m1"],
        None,
        "likelihood-1",
    )
    assert found["memories"][3]["model"] == -2.0


def test_text_is_shown_only_when_asked_for_and_with_its_key(explain, monkeypatch):
    code, out, err = explain("--show-text")
    assert (code, "its text was not kept: set MEMSIFT_DECISION_LOG_TEXT_KEYS" in err) == (2, True)
    assert "is sealed: set MEMSIFT_DECISION_LOG_TEXT_KEYS" in explain("--show-text", lines=[sealed()])[2]
    monkeypatch.setenv("MEMSIFT_DECISION_LOG_TEXT_KEYS", KEYS)
    assert SECRET not in "".join(explain("--json", lines=[sealed()])[1:])
    out = explain("--show-text", lines=[sealed()])[1]
    assert f"question: {SECRET}" in out
    assert "reason: because of the flowerpot" in out
    assert "under the blue flowerpot" in out
    shown = json.loads(explain("--show-text", "--json", lines=[sealed()])[1])
    assert shown["text"]["query"].startswith(SECRET)


def test_torn_lines_harm_no_other(explain):
    torn = b'{"kind":"decision","v":1,"job":"job-0001'
    assert explain(lines=[torn + b"\n", decision(), torn])[0] == 0


def test_without_a_log_it_says_what_to_give(run, tmp_path):
    code, _, err = run("explain", "job-0001")
    assert (code, "give --log, or set MEMSIFT_DECISION_LOG" in err) == (2, True)
    (tmp_path / "empty").mkdir()
    code, _, err = run("explain", "job-0001", "--log", str(tmp_path / "empty"))
    assert (code, "holds no decision log" in err) == (2, True)


def test_several_logs_are_one(run, tmp_path):
    one = write(tmp_path / "a", decision())
    other = write(tmp_path / "b", told(used=("m0",)))
    code, out, _ = run("explain", "job-0001", "--log", str(one / "decisions-a.jsonl"), "--log", str(other))
    assert (code, "feedback: used m0" in out) == (0, True)
