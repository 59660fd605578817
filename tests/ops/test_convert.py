"""From a log of one's own to a set that `memsift eval` reads."""

import csv
import io
import json
import os
import re
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsift_ops import datasets, group, valkey
from memsift_ops.own_logs import reading, writing
from memsift_ops.own_logs.assembling import assemble, guessed
from memsift_ops.own_logs.writing import write
from memsift_schemas import InvalidInput
from memsift_schemas.text import clean

SECRET = "the spare key is under the flowerpot"
KEY = {
    "id": "m1",
    "text": f"Mara says {SECRET}.",
    "created_at": "2026-03-02T09:30:00+08:00",
    "similarity": 0.8,
}
CAT = {"id": "m2", "text": "The cat\nis called Momo.", "created_at": "2026-03-01", "similarity": 0.9}
ROW = {
    "query": "Where is the key?",
    "memories": [CAT, KEY],
    "relevant": ["m1"],
    "now": "2026-03-04T10:00:00Z",
}


@pytest.fixture
def convert(tmp_path, capsys):
    """Convert rows, or the text of a file: exit code, stdout, stderr, and a way to load the set."""

    def convert(log, *arguments, to=tmp_path / "sets", name="log.txt"):
        path = tmp_path / name
        raw = log if isinstance(log, bytes) else (log if isinstance(log, str) else lines(log)).encode()
        path.write_bytes(raw)
        code = group.run(["convert", str(path), "--to", str(to), "--name", "ours", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return convert


@pytest.fixture
def loaded(tmp_path):
    def loaded():
        cases = datasets.load(tmp_path / "sets", "ours", unanswerable=True)
        return sorted(cases, key=lambda case: case.query)

    return loaded


def lines(rows):
    return "\n".join(json.dumps(row) for row in rows)


def table(rows, **how):
    written = io.StringIO()
    csv.writer(written, **how).writerows(rows)
    return written.getvalue()


LONG = [
    ["query_id", "query", "memory", "relevant", "memory_id", "created_at", "similarity", "now"],
    ["q1", ROW["query"], CAT["text"], "0", "m2", CAT["created_at"], "0.9", ROW["now"]],
    ["q1", ROW["query"], KEY["text"], "1", "m1", KEY["created_at"], "0.8", ROW["now"]],
]
WIDE = [
    ["Query", "Memories", "Relevant", "now", "id"],
    [ROW["query"], json.dumps(ROW["memories"]), '["m1"]', ROW["now"], "q1"],
]


@pytest.mark.parametrize(
    "log",
    [
        lines([{**ROW, "id": "q1"}]),
        table(WIDE),
        table(WIDE, delimiter=";", quoting=csv.QUOTE_ALL),
        table(LONG),
        table(LONG, delimiter="\t"),
        "sep=;\r\n" + table(LONG, delimiter=";"),
        "\ufeff" + table(LONG, delimiter=";"),
        table(LONG, lineterminator="\r", quoting=csv.QUOTE_ALL),
        "\ufeff" + table([["Query ID", *LONG[0][1:]], *LONG[1:], ["", " "]], quoting=csv.QUOTE_ALL),
    ],
    ids=["json", "wide", "wide;", "long", "long-tab", "long-sep", "long-bom", "long-mac", "long-quoted"],
)
def test_every_form_gives_the_same_question(convert, loaded, log):
    code, _, err = convert(log)
    assert code == 0, err
    (case,) = loaded()
    assert (case.id, case.query, case.lang, case.user) == ("q1", "Where is the key?", "en", "ours")
    assert case.now == datetime(2026, 3, 4, 10, tzinfo=UTC)
    assert [(m.id, m.text, m.similarity) for m in case.memories] == [
        ("m2", CAT["text"], 0.9),
        ("m1", KEY["text"], 0.8),
    ]
    assert case.memories[1].created_at == datetime(2026, 3, 2, 1, 30, tzinfo=UTC)
    assert case.gold == {"m1"}


def test_plain_texts_get_ids_that_stay_and_are_named_by_their_text(convert, loaded):
    row = {
        "query": "钥匙在哪里？",
        "memories": ["备用钥匙在花盆下面。", "猫叫默默。"],
        "relevant": ["猫叫默默。"],
    }
    assert convert([row])[0] == 0
    (first,) = loaded()
    assert first.lang == "zh"
    assert first.gold == {first.memories[1].id}
    # When another question is added before it, nothing of it changes
    assert convert([ROW, row], "--force")[0] == 0
    again = loaded()[1]
    assert (again.id, again.gold) == (first.id, first.gold)
    assert [m.id for m in again.memories] == [m.id for m in first.memories]


def test_what_was_assumed_is_told_without_a_value(convert, loaded):
    rows = [
        {"query": f"Where? {SECRET}", "memories": ["A", "B"], "relevant": []},
        {"query": "And nothing?", "memories": [], "relevant": []},
    ]
    code, out, err = convert(rows)
    assert code == 0
    told = [line for line in err.splitlines() if not line.startswith("reading")]
    assert told == [
        "no created_at: time plays no part among these memories",
        "no now: asked when the newest of its memories was made",
        "no similarity: rankers go by the words",
        "no user: these questions are one user's",
        "language guessed by script: en 1",
        "1 questions without a relevant memory: they measure abstention",
        "1 questions without memories: left out, there is nothing to rank",
    ]
    assert out.startswith("ours: 1 questions, 2 memories\n")
    assert SECRET not in out + err
    (case,) = loaded()
    assert case.gold == frozenset()
    assert {m.created_at for m in case.memories} == {case.now}
    assert [m.similarity for m in case.memories] == [None, None]


def test_a_memory_without_time_is_as_old_as_the_oldest(convert, loaded):
    row = {**ROW, "memories": [KEY, {"id": "m3", "text": "Undated."}]}
    other = {"query": "Another?", "memories": ["Undated too."], "relevant": [], "now": "2026-01-05"}
    code, _, err = convert([row, other])
    assert code == 0
    assert "2 of 3 without created_at: time plays no part among these memories" in err
    undated = {m.created_at for case in loaded() for m in case.memories if m.text.startswith("Undated")}
    assert undated == {datetime(2026, 1, 5, tzinfo=UTC)}


def test_an_id_of_two_texts_is_told_apart(convert, loaded):
    # Given a memory that was updated between two questions, and another user's of the same id
    later = {**ROW, "query": "Where is it now?", "memories": [{**KEY, "text": "Mara took the key along."}]}
    other = {**ROW, "query": "Whose is it?", "user": "ben"}
    code, out, err = convert([ROW, later, other, {**ROW, "query": "Again?"}], "--json")
    assert code == 0
    assert "3 memories with an id that stood for another text before: it got a suffix" in err
    again, now, first, whose = loaded()
    assert [m.id for m in again.memories] == [m.id for m in first.memories] == ["m2", "m1"]
    assert now.memories[0].text == "Mara took the key along."
    assert now.gold == {now.memories[0].id} != first.gold
    assert (whose.user, whose.gold) == ("ben", {whose.memories[1].id})
    assert json.loads(out)["memories"] == 5


def test_the_counts_as_json(convert, tmp_path):
    code, out, _ = convert([ROW, {**ROW, "query": "b", "relevant": ["m1", "m77"]}], "--json")
    assert code == 0
    assert json.loads(out) == {
        "set": "ours",
        "files": [str(tmp_path / "sets" / f"ours.{kind}.jsonl") for kind in ("queries", "memories")],
        "questions": 2,
        "memories": 2,
        "candidates": 4,
        "unanswerable": 0,
        "left_out": 0,
        "not_recalled": 1,
        "changed": 0,
        "no_created_at": 0,
        "no_now": 0,
        "no_similarity": 0,
        "no_user": 2,
        "languages": {"en": 2},
    }


def test_the_files_are_for_their_owner_alone_and_not_overwritten(convert, tmp_path):
    assert convert([ROW])[0] == 0
    made = sorted((tmp_path / "sets").iterdir())
    assert [path.name for path in made] == ["ours.memories.jsonl", "ours.queries.jsonl"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}
    before = made[0].read_bytes()
    code, _, err = convert([{**ROW, "memories": [KEY]}])
    assert code == 2
    assert "is there already: name another set, or give --force to replace it" in err
    assert made[0].read_bytes() == before
    assert convert([{**ROW, "memories": [KEY]}], "--force")[0] == 0
    assert made[0].read_bytes() != before


LONG_HEAD = "query,memory,relevant\n"


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (lines([ROW]) + "\n{", "line 2: input: Invalid JSON"),
        (lines([ROW, {"query": SECRET}]), "line 2: memories: Field required; relevant: Field required"),
        (lines([{**ROW, "query": " "}]), "line 1: query: must not be blank"),
        (lines([{**ROW, "memories": [KEY, KEY]}]), "line 1: memories.1.id: the same as that of memories.0"),
        (lines([{**ROW, "relevant": [SECRET]}]), "line 1: relevant.0: names none of the memories"),
        (lines([{**ROW, "memories": ["A"], "relevant": ["m1"]}]), "line 1: relevant.0: names none"),
        (lines([{**ROW, "now": SECRET}]), "line 1: now: is no time; write it as in 2026-03-02T"),
        (lines([{**ROW, "memories": [{**KEY, "similarity": SECRET}]}]), "line 1: memories.0.similarity: "),
        (
            lines([{**ROW, "id": "a"}, ROW, {**ROW, "id": "a"}]),
            "line 3: the same id as the question of line 1",
        ),
        (json.dumps([ROW]), "line 1: is a JSON list"),
        ("", "line 1: names neither a column memories"),
        ("query,memory,relevant\n", "holds no question"),
        (lines([{**ROW, "memories": []}]), "no question has memories"),
        (f"query,memory\na,{SECRET}\n", "line 1: there is no column relevant"),
        ("query,memory,Query,relevant\n", "line 1: two columns have the same name"),
        (f"{LONG_HEAD}a,b,1\nc,{SECRET},\n,maybe,{SECRET}\n", "line 4: relevant: must be 1 or 0"),
        (f'{LONG_HEAD}a,"b\nc",1\na,{SECRET}, and more,1\n', "line 4: has 4 cells for 3 columns"),
        (f'{LONG_HEAD}a,b,1\na,"{SECRET}\nd,e,1\n', "line 3: is no CSV: unexpected end of data"),
        (f"{LONG_HEAD}a,b,1\na,  ,1\n", "line 3: text: must not be blank"),
        (f'query,memories,relevant\na,"{SECRET}",\n', "line 2: memories: is no JSON"),
        ("query_id,query,memory,relevant\nq,a,b,1\nq,x,c,0\n", "line 3: query: line 2 tells another"),
        (b"query,memory,relevant\na,\xff,1\n", "line 2: is not UTF-8"),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_no_value(convert, tmp_path, log, said):
    code, out, err = convert(log)
    assert (code, out) == (2, "")
    assert f"log.txt {said}" in err
    assert SECRET not in err
    assert not (tmp_path / "sets").exists()


@pytest.mark.parametrize("name", ["../x", ".x", "a b", "", "n" * 33])
def test_a_name_that_is_no_name_is_refused(run_group, name):
    assert "use at most 32 letters" in run_group("convert", __file__, "--to", "x", "--name", name)


@pytest.fixture
def run_group(capsys):
    def run_group(*arguments):
        assert group.run(arguments) == 2
        return capsys.readouterr().err

    return run_group


def test_without_a_question_id_equal_questions_of_the_long_form_are_one(convert, loaded):
    log = table([["query", "memory", "relevant"], ["a?", "x", "1"], ["b?", "x", "0"], ["a?", "y", "yes"]])
    assert convert(log)[0] == 0
    first, second = loaded()
    assert ([m.text for m in first.memories], len(first.gold)) == (["x", "y"], 2)
    assert ([m.text for m in second.memories], len(second.gold)) == (["x"], 0)
    assert first.memories[0].id == second.memories[0].id


def test_turns_keep_who_said_them(convert, loaded):
    turns = [{"role": "user", "text": "Hi: there"}, {"role": "assistant", "text": "Yes?"}, "Assistant: no"]
    assert convert([{**ROW, "turns": turns}])[0] == 0
    assert [(turn.role, turn.text) for turn in loaded()[0].turns] == [
        ("user", "Hi: there"),
        ("assistant", "Yes?"),
        ("user", "Assistant: no"),
    ]


def test_a_write_that_fails_leaves_what_was_there(convert, tmp_path, monkeypatch):
    assert convert([ROW])[0] == 0
    before = {path: path.read_bytes() for path in (tmp_path / "sets").iterdir()}
    log = lines([{**ROW, "query": "other"}])

    def full(*_arguments, **_how):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.Path, "replace", full)
    code, _, err = convert(log, "--force")
    assert code == 2
    assert "No space left on device" in err
    assert {path: path.read_bytes() for path in (tmp_path / "sets").iterdir()} == before


@pytest.mark.parametrize(
    ("text", "language"), [("在 Berlin 吗", "zh"), ("who is called 李雷", "en"), ("Кто?", "")]
)
def test_the_language_is_told_by_script(text, language):
    assert guessed(text) == language


TEXTS = st.text(min_size=1, max_size=12).filter(lambda text: clean(text).strip())
TIMES = st.none() | st.datetimes(datetime(1990, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


@st.composite
def rows(draw):
    """A question, its memories with or without ids, and the places of what is relevant."""
    names = draw(st.lists(st.sampled_from(["m1", "m2", "7", "记忆"]) | st.none(), max_size=5))
    ids = [name if name not in names[:at] else None for at, name in enumerate(names)]
    similarity = st.none() | st.floats(-1, 1)
    memories = [
        {"id": key, "text": draw(TEXTS), "created_at": draw(TIMES), "similarity": draw(similarity)}
        for key in ids
    ]
    relevant = draw(st.sets(st.sampled_from(range(len(ids))))) if ids else set()
    return {
        "query": draw(TEXTS),
        "user": draw(st.sampled_from(["mara", "ben"]) | st.none()),
        "now": draw(TIMES),
        "memories": memories,
    }, relevant


def as_json_lines(asked):
    return "\n".join(
        json.dumps({**row, "relevant": [name_of(row, at) for at in places]}, default=str)
        for row, places in asked
    )


def name_of(row, at):
    return row["memories"][at]["id"] or row["memories"][at]["text"]


def as_wide(asked):
    head = ["query", "user", "now", "memories", "relevant"]
    body = [
        [row["query"], row["user"], row["now"], json.dumps(row["memories"], default=str),
         json.dumps([name_of(row, at) for at in places])]
        for row, places in asked
    ]  # fmt: skip
    return table([head, *body], delimiter=";")


def as_long(asked):
    head = ["query_id", "query", "user", "now", "memory", "relevant", "memory_id", "created_at", "similarity"]
    body = [
        [f"q{number}", row["query"], row["user"], row["now"], m["text"], int(at in places), m["id"],
         m["created_at"], m["similarity"]]
        for number, (row, places) in enumerate(asked)
        for at, m in enumerate(row["memories"])
    ]  # fmt: skip
    return table([head, *body])


@pytest.mark.parametrize("form", [as_json_lines, as_wide, as_long])
@given(
    asked=st.lists(rows(), min_size=1, max_size=5).filter(lambda asked: any(r["memories"] for r, _ in asked))
)
def test_any_log_gives_its_own_questions(tmp_path_factory, form, asked):
    # Given any log in any form
    folder = tmp_path_factory.mktemp("any")
    (folder / "log").write_text(form(asked), encoding="utf-8", newline="")
    # When it is converted and loaded
    write(folder, "ours", assemble(reading.read(folder / "log"), "ours"), force=False)
    cases = datasets.load(folder, "ours", unanswerable=True)
    # Then there are the same questions with the same memories, of which the same are relevant
    expected = [
        (
            row["query"].strip(),
            row["user"] or "ours",
            [clean(memory["text"]) for memory in row["memories"]],
            [memory["similarity"] for memory in row["memories"]],
            relevant_texts(row, places, form),
        )
        for row, places in asked
        if row["memories"]
    ]
    found = [
        (
            case.query.strip(),
            case.user,
            [memory.text for memory in case.memories],
            [memory.similarity for memory in case.memories],
            sorted(memory.text for memory in case.memories if memory.id in case.gold),
        )
        for case in cases
    ]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    for case in cases:
        assert case.gold <= {memory.id for memory in case.memories}


def relevant_texts(row, places, form):
    """In the long form by place; a text names every memory that has it."""
    names = {name_of(row, at).strip() for at in places}
    texts = [memory["text"] for at, memory in enumerate(row["memories"]) if at in places]
    if form is not as_long:
        texts = [
            memory["text"]
            for at, memory in enumerate(row["memories"])
            if memory["id"] in names or memory["text"].strip() in names
        ]
    return sorted(clean(text) for text in texts)


def test_a_broken_log_is_told_as_input_of_the_caller(tmp_path):
    (tmp_path / "log").write_text("{}")
    with pytest.raises(InvalidInput) as caught:
        reading.read(tmp_path / "log")
    assert caught.value.__cause__ is None


PAGE = (Path(__file__).parents[2] / "docs" / "own-logs.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"```(json|csv)\n(.*?)```", PAGE, re.DOTALL))


@pytest.mark.parametrize(("form", "questions"), [("json", 3), ("csv", 1)])
def test_the_examples_of_the_docs(convert, loaded, form, questions):
    code, _, err = convert(EXAMPLES[form])
    assert code == 0, err
    found = loaded()
    assert len(found) == questions
    key = next(case for case in found if "key" in case.query)
    assert [memory.text for memory in key.memories if memory.id in key.gold] == [
        "The spare key is in the shed."
    ]


@pytest.mark.stack
def test_a_converted_log_is_measured(tmp_path):
    # Given a log with a question that nothing answers, and candidates without similarity
    (tmp_path / "log.jsonl").write_text(EXAMPLES["json"])
    environment = {**os.environ, "MEMSIFT_REDIS_URL": valkey.url(valkey.free_port())}

    def memsift(*arguments):
        command = [sys.executable, "-m", "memsift_ops", *map(str, arguments)]
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=100, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    # When it is converted and measured
    converted = memsift("convert", tmp_path / "log.jsonl", "--to", tmp_path / "sets", "--name", "ours")
    assert "--set ours" in converted
    told = memsift("eval", "--data", tmp_path / "sets", "--set", "ours", "--ranker", "jev", "--json")
    # Then every question was asked, and quality is that of the answerable ones
    jev = json.loads(told)["sets"]["ours"]["jev"]
    assert (jev["n"], jev["fell_back"]["n"], jev["abstention"]["n_unanswerable"]) == (2, 0, 1)
    assert jev["hit_at_3"] == 1.0
