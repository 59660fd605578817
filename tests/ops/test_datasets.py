"""The reader of evaluation sets, on a set of our own."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest

from memsift_ops import datasets
from memsift_schemas import InvalidInput

SECRET = "the spare key is under the flowerpot"
MEMORIES = [
    {"id": "p/1", "pool": "p", "text": f"Mara says {SECRET}.", "created_at": "2026-01-02T03:04:05"},
    {"id": "p/2", "pool": "p", "text": "Line\u2028separated.", "created_at": "2026-01-02T03:04:05+08:00"},
]
QUERY = {
    "id": "q1",
    "lang": "en",
    "now": "2026-02-03T04:05:06",
    "query": "Where is the key?",
    "context": ["Mara: Hello: there", "Assistant: Hi!", "no name"],
    "pool": "p",
    "gold": ["p/1", "p/9"],
    "candidates": ["p/2", "p/1"],
    "similarity": [0.9, 0.8],
}


@pytest.fixture
def write(tmp_path):
    def write(queries, memories=MEMORIES, name="small"):
        for kind, rows in (("queries", queries), ("memories", memories)):
            lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
            (tmp_path / f"{name}.{kind}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        return tmp_path

    return write


def test_a_query_comes_with_its_candidates_similarities_and_turns(write):
    (case,) = datasets.load(write([QUERY]), "small")
    assert (case.id, case.user, case.query) == ("q1", "p", "Where is the key?")
    assert [(m.id, m.similarity) for m in case.memories] == [("p/2", 0.9), ("p/1", 0.8)]
    assert [(turn.role, turn.text) for turn in case.turns] == [
        ("user", "Hello: there"),
        ("assistant", "Hi!"),
        ("user", "no name"),
    ]
    # What recall missed still counts as relevant.
    assert case.gold == {"p/1", "p/9"}


def test_times_without_a_zone_are_utc_and_others_keep_theirs(write):
    (case,) = datasets.load(write([QUERY]), "small")
    assert case.now == datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    assert case.memories[1].created_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert case.memories[0].created_at.tzinfo == timezone(timedelta(hours=8))


def test_a_limit_takes_the_same_shuffled_queries_every_time(write):
    folder = write([{**QUERY, "id": f"q{at}"} for at in range(30)])

    def taken(**how):
        return [case.id for case in datasets.load(folder, "small", limit=5, **how)]

    assert taken() == taken(seed=1)
    assert len(set(taken())) == 5
    assert taken() != taken(seed=2)


def test_queries_without_gold_are_left_out(write):
    folder = write([{**QUERY, "gold": []}, {**QUERY, "id": "q2"}])
    assert [case.id for case in datasets.load(folder, "small")] == ["q2"]


def test_queries_that_nothing_answers_are_kept_when_asked_for(write):
    folder = write([{**QUERY, "gold": []}, {**QUERY, "id": "q2"}])
    found = {case.id: case.gold for case in datasets.load(folder, "small", unanswerable=True)}
    assert sorted(map(bool, found.values())) == [False, True]
    assert found["q2"] == frozenset(QUERY["gold"])


def test_a_set_without_memories_takes_those_of_the_longest_name_that_it_continues(write):
    # Given three sets of memories, and one without whose name continues two of them
    folder = write([QUERY])
    queries, memories = folder / "small.queries.jsonl", folder / "small.memories.jsonl"
    for name in ("small_sub", "small_su", "other"):
        (folder / f"{name}.queries.jsonl").write_text(queries.read_text())
        (folder / f"{name}.memories.jsonl").write_text(memories.read_text())
    (folder / "small_sub_abstain.queries.jsonl").write_text(queries.read_text())
    # Then it is the longest that ends at a "_"
    assert datasets.memories_path(folder, "small_sub_abstain").name == "small_sub.memories.jsonl"
    assert datasets.load(folder, "small_sub_abstain") == datasets.load(folder, "small_sub")
    # And a set with memories of its own keeps them
    assert datasets.memories_path(folder, "small_sub").name == "small_sub.memories.jsonl"


@pytest.mark.parametrize(
    ("name", "names", "expected"),
    [
        ("a_b_c", ["a", "a_b", "ab", "a_b_c"], "a_b"),
        ("a_b", ["a_bc", "b", "a_b"], None),
        ("ab", ["a"], None),
        ("a_", ["a"], "a"),
    ],
)
def test_the_sibling_is_the_longest_other_prefix_up_to_an_underscore(name, names, expected):
    assert datasets.sibling(name, names) == expected


def test_a_set_without_any_gold_is_refused(write):
    with pytest.raises(InvalidInput, match="nothing can be measured"):
        datasets.load(write([{**QUERY, "gold": []}]), "small")


def test_an_unknown_set_is_told_with_those_that_are_there(write):
    with pytest.raises(InvalidInput, match=r"no set smal .*there is: small"):
        datasets.load(write([QUERY]), "smal")


@pytest.mark.parametrize(
    ("queries", "memories", "said"),
    [
        ([QUERY, "{"], MEMORIES, "small.queries.jsonl line 2: input: Invalid JSON"),
        ([{**QUERY, "now": "yesterday"}], MEMORIES, "small.queries.jsonl line 1: now: "),
        ([{**QUERY, "similarity": [0.9]}], MEMORIES, "line 1: similarity needs one number per candidate"),
        ([QUERY], MEMORIES[:1], "line 1: 1 candidates are not in the set's memories file"),
        ([QUERY], [*MEMORIES, {"id": "x"}], "small.memories.jsonl line 3: text: Field required"),
        ([QUERY], [MEMORIES[0], {**MEMORIES[1], "text": " "}], "line 1: one of its memories: "),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line_and_no_text(write, queries, memories, said):
    with pytest.raises(InvalidInput) as caught:
        datasets.load(write(queries, memories), "small")
    assert said in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_missing_memories_file_is_told(write):
    folder = write([QUERY])
    (folder / "small.memories.jsonl").unlink()
    with pytest.raises(InvalidInput, match=r"cannot read .*small.memories.jsonl: No such file"):
        datasets.load(folder, "small")


@pytest.mark.parametrize("given", [{"similarity": [None, 0.8]}, {"similarity": None}, {}])
def test_similarity_may_be_missing(write, given):
    row = {name: value for name, value in QUERY.items() if name != "similarity"}
    (case,) = datasets.load(write([row | given]), "small")
    similarities = [memory.similarity for memory in case.memories]
    assert similarities == (given.get("similarity") or [None, None])
