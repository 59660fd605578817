"""A prompt's version tells prompts apart, whatever the model, and nothing else."""

import pytest

from memsift_schemas.settings import WorkerSettings
from memsift_workers.rankers.decision import questions
from memsift_workers.rankers.decision.ranker import build_decision
from memsift_workers.rankers.nox.ranker import build_nox
from memsift_workers.strategies import card, likelihood, listwise, pointwise
from memsift_workers.strategies.likelihood import Likelihood
from memsift_workers.strategies.listwise import LABELS, Listwise
from memsift_workers.strategies.pointwise import Pointwise
from memsift_workers.strategies.scorecard import Scorecard
from memsift_workers.strategies.templates import TEMPLATES
from memsift_workers.strategies.version import strategy_version

CHATML = TEMPLATES["chatml"]
LIKELIHOOD, POINTWISE = Likelihood(weight_en=1.0, weight_zh=1.0), Pointwise(CHATML)
LISTWISE, SCORECARD = Listwise(CHATML, weight_en=1.0, weight_zh=1.0), Scorecard(CHATML)


def test_each_strategy_has_its_own_and_a_model_does_not_change_it():
    every = [strategy_version(one) for one in (LIKELIHOOD, POINTWISE, LISTWISE, SCORECARD)]
    assert [one.rpartition("-")[0] for one in every] == ["likelihood", "pointwise", "listwise", "scorecard"]
    learned = Listwise(CHATML, weight_en=0.5, weight_zh=1.0)
    before = strategy_version(learned)
    assert before == every[2]
    assert strategy_version(Pointwise(TEMPLATES["llama3"])) != every[1]


@pytest.mark.parametrize(
    ("strategy", "where", "name", "value"),
    [
        (LIKELIHOOD, likelihood, "_SUFFIX", {"en": " {query}", "zh": " {query}"}),
        (POINTWISE, pointwise, "SYSTEM", f"{pointwise.SYSTEM} "),
        (LISTWISE, listwise, "NOTHING", "Nothing.\n"),
        (LISTWISE, listwise, "ASKS", "Label:"),
        (SCORECARD, card, "HEADING", "What is known:\n"),
        (SCORECARD, card, "MAX_REASON_CHARS", 80),
    ],
)
def test_any_changed_word_changes_it(monkeypatch, strategy, where, name, value):
    before = strategy_version(strategy)
    monkeypatch.setattr(where, name, value)
    assert strategy_version(strategy) != before


@pytest.mark.parametrize(
    ("build", "where", "name"),
    [(build_nox, card, "SYSTEM"), (build_decision, questions, "ASKED")],
)
def test_remote_models_are_told_a_version_too(monkeypatch, build, where, name):
    settings = WorkerSettings(nox_model="m")
    before = build(settings).prompt_version
    assert before.startswith(f"{build(settings).name}-")
    monkeypatch.setattr(where, name, "Other words.")
    assert build(settings).prompt_version != before


def test_labels_that_a_model_lacks_are_no_other_prompt():
    learned = Listwise(CHATML, weight_en=1.0, weight_zh=1.0)
    learned.use_labels(LABELS[:20])
    assert strategy_version(learned) == strategy_version(LISTWISE)
