"""The tables of cards and models, and tables of one's own."""

import json

import pytest

from memsift_ops.errors import Refused
from memsift_ops.planning import hardware

CARD = 'memory_gb = 16\nbandwidth_gb_s = 448\nbf16_tflops = 55\nsource = "its box"\n'


def test_every_row_names_its_source_and_every_price_its_own():
    for card in hardware.cards():
        assert card.source
        assert bool(card.price_source) == (card.usd_per_hour is not None)
        # Dense peaks: a card that multiplies in fp8 does it twice as fast.
        assert card.fp8_tflops is None or card.fp8_tflops == pytest.approx(2 * card.bf16_tflops, rel=0.02)
    for model in hardware.models():
        assert model.source.startswith("https://huggingface.co/")


@pytest.mark.parametrize(
    ("name", "billions"),
    [("qwen3-0.6b", 0.6), ("qwen3-1.7b", 1.7), ("qwen3-8b", 8.2), ("smollm2-135m", 0.135)],
)
def test_models_have_about_as_many_parameters_as_their_names_say(name, billions):
    model = hardware.model(name)
    assert model.layer_parameters + model.embedding_parameters == pytest.approx(billions * 1e9, rel=0.03)


def test_an_unknown_card_is_refused_with_those_there_are():
    with pytest.raises(Refused, match=r"--card b300: there is rtx3090, rtx4090.*or name a TOML file"):
        hardware.card("b300")


@pytest.mark.parametrize("head", ["", '["mine"]\n'])
def test_a_card_of_ones_own(tmp_path, head):
    path = tmp_path / "mine.toml"
    path.write_text(head + CARD)
    card = hardware.card(str(path))
    assert (card.name, card.memory_gb, card.fp8_tflops, card.usd_per_hour) == ("mine", 16, None, None)


def test_a_config_json_of_hugging_face_is_a_model(tmp_path):
    path = tmp_path / "config.json"
    told = {
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 100,
    }
    path.write_text(json.dumps(told))
    model = hardware.model(str(path))
    assert model.head_dim == 16
    assert model.kv_elements == 2 * 2 * 2 * 16


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("gone.toml", None, "cannot be read: No such file"),
        ("broken.toml", "memory_gb = ", "is neither TOML nor JSON"),
        ("short.toml", "memory_gb = 24", "bandwidth_gb_s: Field required"),
        ("typo.toml", CARD + "fp8_tflop = 3", "fp8_tflop: Extra inputs"),
        ("list.json", "[1]", "it holds no table"),
        ("less.toml", CARD.replace("448", "-1"), "bandwidth_gb_s: Input should be greater than 0"),
    ],
)
def test_a_file_that_is_no_card_is_refused_with_what_is_wrong(tmp_path, name, text, said):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    with pytest.raises(Refused) as refused:
        hardware.card(str(path))
    assert said in str(refused.value.message)
