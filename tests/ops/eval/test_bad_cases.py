"""Which questions went wrong, and who lost what was relevant."""

from dataclasses import replace

import pytest

from memsift_ops.datasets import load
from memsift_ops.evaluation import bad_cases
from memsift_ops.evaluation.bad_cases import NOT_RECALLED, Loss
from tests.ops.eval.made_up import SECRET, outcome, write_set

PLAIN = SECRET.split(" &", maxsplit=1)[0]


@pytest.fixture
def asked(tmp_path):
    """q00, whose gold is m3."""
    return [one for one in load(write_set(tmp_path), "small", limit=None, seed=1) if one.id == "q00"]


def collect(asked, *outcomes, show_text=False):
    return bad_cases.collect({"small": asked}, ["prefilter", "jev"], outcomes, show_text=show_text)


@pytest.mark.parametrize(
    ("ranking", "pruned", "loss", "place"),
    [
        (["a", "b", "c", "small/m3"], 0, Loss.RANKED, 4),
        (["a", "b", "c", "small/m3"], 1, Loss.PRUNED, None),
        (["a", "b", "c"], 0, Loss.MISSED, None),
    ],
)
def test_the_step_that_lost_it_is_named(asked, ranking, pruned, loss, place):
    (found,) = collect(asked, outcome("q00", ranking, pruned=pruned))
    assert (found.answered, found.losses) == (1, {loss: 1})
    (entry,) = found.worst[0].relevant
    assert (entry.loss, entry.place) == (loss, place)


def test_numbers_of_chosen_and_missed_stand_beside_the_prefilters_place(asked):
    before = outcome("q00", ["c", "small/m3", "b", "a"], ranker="prefilter", pruned=2)
    ranked = outcome("q00", ["a", "b", "c", "small/m3"], scores=(4, 3, 2, 1), evidence=(0.4, 0.3, 0.2, 0.1))
    (jev,) = (one for one in collect(asked, before, ranked) if one.ranker == "jev")
    entries = jev.worst[0].chosen + jev.worst[0].relevant
    assert [(one.id, one.place, one.score, one.evidence, one.prefilter) for one in entries] == [
        ("a", 1, 4, 0.4, 0),
        ("b", 2, 3, 0.3, 0),
        ("c", 3, 2, 0.2, 1),
        ("small/m3", 4, 1, 0.1, 2),
    ]


def test_of_several_relevant_ones_the_closest_counts(asked):
    several = [replace(asked[0], gold=frozenset({"missed", "pruned", "low", "lower"}))]
    ranking = ["a", "b", "c", "low", "lower", "pruned"]
    (found,) = collect(several, outcome("q00", ranking, pruned=1))
    assert [one.id for one in found.worst[0].relevant] == ["low", "lower", "pruned", "missed"]
    assert found.losses == {Loss.RANKED: 1}


def test_what_the_prefilter_pruned_was_not_chosen(asked):
    (found,) = collect(asked, outcome("q00", ["a", "b", "c"], pruned=2))
    assert [one.id for one in found.worst[0].chosen] == ["a"]


def test_the_worst_come_first_and_only_so_many(tmp_path):
    asked = load(write_set(tmp_path), "small", limit=None, seed=1)
    # Given rankings that put what is relevant at places 4, 5, 6, ...
    outcomes = [outcome(one.id, [*"abc", *"z" * at, next(iter(one.gold))]) for at, one in enumerate(asked)]
    # When at most some are shown
    (found,) = collect(asked, *outcomes)
    # Then the last places come first
    assert [case.relevant[0].place for case in found.worst] == list(range(3 + len(asked), 3, -1))
    assert len(found.worst) == bad_cases.SHOWN == len(asked)


def test_where_the_prefilter_answered_there_is_no_case(asked):
    assert collect(asked, outcome("q00", (), cause="deadline")) == []


def test_a_question_that_nothing_answers_is_no_bad_case(asked):
    assert collect([replace(asked[0], gold=frozenset())], outcome("q00", ["a"])) == []


def test_texts_and_reasons_come_only_when_asked_for_and_never_in_a_repr(asked):
    ranked = outcome("q00", ["small/m0", "a", "b"], reason=SECRET)
    hidden = collect(asked, ranked)[0].worst[0]
    assert (hidden.text, hidden.reason, hidden.chosen[0].text) == ("", "", "")
    shown = collect(asked, ranked, show_text=True)[0].worst[0]
    assert shown.reason == SECRET
    assert PLAIN in shown.text
    assert PLAIN in shown.chosen[0].text
    assert shown.chosen[1].text == NOT_RECALLED
    assert PLAIN not in repr(shown) + repr(ranked)
