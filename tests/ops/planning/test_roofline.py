"""The roofline against the design's figures for Qwen3-4B: 20 memories of 100 tokens on 24 GB cards."""

import pytest

from memsift_ops.planning import hardware, layouts, roofline
from memsift_ops.planning.layouts import Prompt
from memsift_ops.planning.roofline import Efficiency, Roofline

QWEN = hardware.model("qwen3-4b")
NO_OVERHEAD = Efficiency(overhead_s=0.0, bandwidth=1.0)
TURNS = layouts.turns("deck", Prompt(), 3)


def line(card="rtx4090", weights="bf16", **changes):
    efficiency = Efficiency(**{"overhead_s": 0.0, "bandwidth": 1.0, **changes})
    return Roofline.of(hardware.card(card), QWEN, weights, weights, efficiency)


def flop(work):
    return (
        2 * QWEN.layer_parameters * work.tokens
        + roofline.attention_flop(QWEN) * work.pairs
        + 2 * QWEN.vocabulary_parameters * work.rows
    )


def test_the_model_has_as_many_parameters_as_its_card_says():
    # "Number of Parameters: 4.0B, Non-Embedding: 3.6B", https://huggingface.co/Qwen/Qwen3-4B
    assert QWEN.layer_parameters == pytest.approx(3.6e9, rel=0.02)
    assert QWEN.layer_parameters + QWEN.embedding_parameters == pytest.approx(4.0e9, rel=0.02)


def test_the_design_prompt_is_2400_tokens_and_19_tflop():
    # The design multiplies all 4.02e9 parameters with every token: 19.3. Here the embedding is looked up
    # and not multiplied, which is 1.9 less, and attention counts, which is 1.7 more.
    assert TURNS.asked[0] == 2_400
    assert flop(TURNS.work(0, 0)) == pytest.approx(19.3e12, rel=0.02)


@pytest.mark.parametrize(
    ("card", "mfu", "milliseconds"),
    [
        ("rtx4090", 0.6, 195),
        # The design's 309 ms are at half of the A10's peak.
        ("a10", 0.5, 309),
    ],
)
def test_a_cold_call_takes_what_the_design_says(card, mfu, milliseconds):
    assert line(card, compute=mfu).seconds(TURNS.work(0, 0)) * 1e3 == pytest.approx(milliseconds, rel=0.02)


def test_with_70_percent_cached_it_takes_a_third():
    # The design adds 8 ms of reading weights to 58 ms of arithmetic. Here only the longer one counts: 53 ms
    # for the new tokens, and 9 for their attention to the cached ones.
    assert line().seconds(TURNS.work(0, 1_680)) * 1e3 == pytest.approx(67, rel=0.1)


@pytest.mark.parametrize("question", [10, 40, 60])
def test_a_question_alone_is_bound_by_reading_the_weights(question):
    prompt = Prompt(conversation=0, question=question, new=1)
    turns = layouts.turns("deck", prompt, 2)
    work = turns.work(0, int(turns.asked[0]) - question)
    assert 7e-3 < line().seconds(work) < 12e-3
    assert line().seconds(work) == pytest.approx(roofline.weight_bytes(QWEN, "bf16") / 1008e9, rel=0.05)


def test_kv_is_144_kib_a_token():
    assert roofline.kv_bytes(QWEN, "bf16") == 144 * 1024
    assert roofline.kv_bytes(QWEN, "fp8") == 72 * 1024


@pytest.mark.parametrize(("precision", "sessions"), [("bf16", 35), ("fp8", 90)])
def test_35_sessions_fit_beside_bf16_weights_and_90_beside_fp8(precision, sessions):
    room = roofline.room(hardware.card("rtx4090"), QWEN, precision, precision, Efficiency())
    assert room / 2_400 == pytest.approx(sessions, rel=0.01)


def test_fp8_is_faster_only_where_the_card_computes_it():
    cold = TURNS.work(0, 0)
    assert line("rtx4090", "fp8").seconds(cold) < 0.6 * line("rtx4090").seconds(cold)
    assert line("a10", "fp8").seconds(cold) == line("a10").seconds(cold)


def test_a_batch_of_questions_reads_the_weights_once():
    prompt = Prompt(conversation=0, question=10, new=1)
    turns = layouts.turns("deck", prompt, 2)
    one = turns.work(0, int(turns.asked[0]) - 10)
    both = roofline.Work(2 * one.tokens, 2 * one.pairs, 2 * one.rows, 2 * one.seen)
    assert line().seconds(both) < 1.1 * line().seconds(one)
