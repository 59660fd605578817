"""What a person reads: tables on a terminal, lines in a pipe, the same content in both."""

import io
import re

import pytest
from rich.console import Console

from memsift_ops import scene, show
from memsift_ops.played import Played
from memsift_producer import Reranking
from memsift_producer.fallback import Fallback
from memsift_schemas import Ranked, RerankResult, Source
from memsift_schemas.job import RerankJob

RESULT = RerankResult(
    job_id="j",
    ranking=(Ranked(id="en-04", score=2.0), Ranked(id="en-19", score=1.0), Ranked(id="en-06", score=0.5)),
    source=Source.MODEL,
    ranker="local",
    model="tiny",
    timings_ms={"prefilter": 0.62, "rank": 1203.4, "total": 1211.0},
    prompt_tokens=1600,
    cached_tokens=1200,
)
BEFORE = RESULT.model_copy(
    update={
        "source": Source.PREFILTER,
        "ranking": tuple(Ranked(id=key, score=0.0) for key in ("en-19", "en-06", "en-04")),
    }
)


@pytest.fixture
def played():
    story = scene.load("en")
    by_id = {memory.id: memory for memory in story.memories}
    return Played(story, 2, story.turns[0], Reranking(RESULT, Fallback(lambda: BEFORE), 2, by_id))


def printed(print_it, *content, terminal=False, width=80):
    console = Console(
        file=io.StringIO(), force_terminal=terminal, width=width, no_color=True, highlight=False
    )
    print_it(console, *content)
    return console.file.getvalue()


def test_a_turn_in_a_pipe(played):
    lines = printed(show.print_turn, played).splitlines()
    by_id = {memory.id: memory for memory in played.scene.memories}
    assert lines == [
        "",
        "Turn 2  07:05  What's on for me today?",
        "  into the prompt:",
        f"  ✓ 1. (prefilter 3) [2026-10-06] {by_id['en-04'].text}",
        f"    2. (prefilter 1) [2026-06-19] {by_id['en-19'].text}",
        "  the prefilter would have chosen instead:",
        f"  ✓ 3. (prefilter 2) [2026-10-05] {by_id['en-06'].text}",
        "  source: model (local tiny)",
        "  tokens: 1,600 in the prompts, 1,200 of them cached (75%)",
        "  milliseconds: prefilter 0.6, rank 1,203.4, total 1,211.0",
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_a_turn_on_a_terminal_fits_its_width(played, width):
    text = printed(show.print_turn, played, terminal=True, width=width)
    lines = re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()
    assert max(map(len, lines)) == width
    assert "coach C" in text
    assert show.INSTEAD in text


def test_chinese_is_shown_whole_on_a_narrow_terminal():
    # Given text without a single space to break at
    story = scene.load("zh")
    best = RESULT.model_copy(update={"ranking": (Ranked(id="zh-03", score=1.0),)})
    played = Played(
        story,
        1,
        story.turns[0],
        Reranking(best, Fallback(lambda: best), 1, {m.id: m for m in story.memories}),
    )
    # When it is printed, then no character of it is missing
    text = printed(show.print_turn, played, terminal=True, width=80)
    assert not set(story.memories[2].text) - set(text)
    assert "…" not in text


def test_brackets_in_a_memory_are_no_markup(played):
    odd = played.scene.memories[3].model_copy(update={"text": "[bold]loud[/bold]"})
    reranking = Reranking(RESULT, Fallback(lambda: BEFORE), 1, {"en-04": odd})
    text = printed(show.print_turn, Played(played.scene, 1, played.question, reranking))
    assert "[2026-10-06] [bold]loud[/bold]" in text


@pytest.mark.parametrize("terminal", [False, True])
def test_a_ranking_shows_every_memory_in_order(played, terminal):
    memories = [memory for memory in played.scene.memories if memory.id in ("en-04", "en-06", "en-19")]
    job = RerankJob(id="f", query="q", now=played.question.now, candidates=memories, deadline=1.0, top_k=2)
    text = printed(show.print_ranking, job, RESULT, terminal=terminal, width=300)
    starts = [
        text.index(memory.text[:30])
        for memory in sorted(memories, key=lambda m: [p.id for p in RESULT.ranking].index(m.id))
    ]
    assert starts == sorted(starts)
    assert "2.000" in text


def test_a_fallback_says_why(played):
    fallen = BEFORE.model_copy(update={"cause": "deadline", "ranker": "", "model": ""})
    assert show.describe(fallen)[0] == "source: prefilter, because: deadline"


def test_json_holds_no_memory_text(played):
    told = played.as_json()
    assert told["ranking"] == ["en-04", "en-19", "en-06"]
    assert (told["session"], told["turn"], told["source"], told["cause"]) == ("en-demo-1", 2, "model", None)
    assert (told["prompt_tokens"], told["cached_tokens"]) == (1600, 1200)
    assert played.scene.memories[3].text not in str(told)
