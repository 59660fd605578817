"""Which sets are measured, and what their questions are labelled with."""

import json

import click
import pytest

from memsift_ops import datasets
from memsift_ops.evaluation import questions
from memsift_schemas import InvalidInput
from tests.ops.eval.made_up import SECRET, write_set


def test_questions_carry_language_and_category(tmp_path):
    found = datasets.load(write_set(tmp_path), "small", limit=None, seed=1)
    labels = {one.id: (one.lang, one.category) for one in found}
    assert labels["q01"] == ("zh", "facts")
    assert labels["q02"] == ("en", "people")


def test_a_set_without_labels_or_memories_is_left_out_unless_it_is_named(tmp_path):
    write_set(tmp_path)
    (tmp_path / "unlabelled.queries.jsonl").write_text('{"id": "q", "gold": []}')
    (tmp_path / "lonely.queries.jsonl").write_text('{"id": "q", "gold": ["m"]}')
    assert questions.chosen(tmp_path, []) == ["small"]
    assert questions.chosen(tmp_path, ["lonely", "small", "lonely"]) == ["lonely", "small"]


def test_a_set_that_nothing_answers_is_measured_with_its_sibling(tmp_path):
    write_set(tmp_path)
    lines = (tmp_path / "small.queries.jsonl").read_text().splitlines()
    nothing = "\n".join(json.dumps({**json.loads(line), "gold": []}) for line in lines)
    for name in ("small_abstain", "alone_abstain"):
        (tmp_path / f"{name}.queries.jsonl").write_text(nothing)
    assert questions.chosen(tmp_path, []) == ["small", "small_abstain"]


def test_a_set_is_the_same_by_content_whatever_it_is_called(tmp_path):
    there, copied = write_set(tmp_path), tmp_path / "copied"
    copied.mkdir()
    for kind in ("queries", "memories"):
        (copied / f"renamed.{kind}.jsonl").write_bytes((there / f"small.{kind}.jsonl").read_bytes())
    before = questions.content_digest(there, "small")
    assert questions.content_digest(copied, "renamed") == before
    for kind in ("queries", "memories"):
        path = copied / f"renamed.{kind}.jsonl"
        raw = path.read_bytes()
        path.write_bytes(raw + b"\n")
        assert questions.content_digest(copied, "renamed") != before
        path.write_bytes(raw)


def test_no_set_at_all_is_a_usage_error(tmp_path):
    with pytest.raises(click.UsageError, match="no set with labelled queries"):
        questions.chosen(tmp_path, [])


def test_two_queries_of_one_id_are_refused(tmp_path):
    write_set(tmp_path)
    path = tmp_path / "small.queries.jsonl"
    path.write_text(path.read_text().replace('"q01"', '"q00"'))
    with pytest.raises(InvalidInput, match="two queries have the same id"):
        datasets.load(tmp_path, "small", limit=None, seed=1)


def test_a_wrong_label_is_told_by_its_line_and_not_by_its_text(tmp_path):
    write_set(tmp_path)
    path = tmp_path / "small.queries.jsonl"
    path.write_text(path.read_text().replace('"plans"', "7", 1))
    with pytest.raises(InvalidInput, match=r"small.queries.jsonl line 1: category") as caught:
        datasets.load(tmp_path, "small", limit=None, seed=1)
    assert SECRET not in str(caught.value)


def test_the_digest_changes_with_the_data(tmp_path):
    before = questions.digest(write_set(tmp_path), ["small"])
    assert questions.digest(tmp_path, ["small"]) == before
    path = tmp_path / "small.memories.jsonl"
    path.write_text(path.read_text().replace("number 0", "number 9"))
    assert questions.digest(tmp_path, ["small"]) != before
