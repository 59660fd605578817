"""The launch presets hold what they say: memory that fits, a reason for each flag, no text in any log."""

import re

import pytest
import yaml

from memsift_ops.planning import hardware, roofline
from tests.deploy.paths import DOCS, PRESETS

# Flags that would write prompts to a log or a disk.
TELL_TEXT = {"log-requests", "crash-dump-folder", "export-metrics-to-file", "hicache-storage-backend"}
# A prompt of 20 memories of 100 tokens (docs/capacity.md); the jobs of MEMSIFT_RUNTIME_CONCURRENCY.
PROMPT_TOKENS, JOBS = 2_400, 24

each_preset = pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)


def room(path):
    """Tokens of KV beside the weights, by the sums of `memsift plan`."""
    flags = yaml.safe_load(path.read_text())
    card = hardware.card("h100" if path.stem.endswith("80gb") else "rtx4090")
    weights = "int4" if "int4" in path.stem else "fp8" if "FP8" in flags["model-path"] else "bf16"
    kv = "fp8" if flags["kv-cache-dtype"].startswith("fp8") else "bf16"
    efficiency = roofline.Efficiency(memory=flags["mem-fraction-static"])
    return roofline.room(card, hardware.model("qwen3-4b"), weights, kv, efficiency)


def unexplained(text):
    """Flags without a comment of their own, on the line before."""
    lines = text.splitlines()
    pairs = zip(["", *lines], lines, strict=False)
    return [line for before, line in pairs if re.match(r"[a-z]", line) and not before.startswith("#")]


def test_there_are_presets():
    assert len(PRESETS) >= 6


@each_preset
def test_each_flag_has_its_reason(path):
    text = path.read_text()
    alone = ("hicache-mem-layout",)  # explained together with the line before it
    assert [line for line in unexplained(text) if not line.startswith(alone)] == []


def test_a_flag_without_a_reason_is_found():
    assert unexplained("# why\na: 1\nb: 2\n") == ["b: 2"]


@each_preset
def test_the_kv_of_all_jobs_fits(path):
    assert room(path) >= PROMPT_TOKENS * JOBS


@each_preset
def test_the_tokens_that_the_comment_names_are_those_that_fit(path):
    comment = path.read_text().partition("\nkv-cache-dtype")[0].rpartition("\nmem-fraction-static")[2]
    named = re.search(r"([\d,]+) tokens", comment)[1].replace(",", "")
    assert int(named) == pytest.approx(room(path), rel=0.01)


@each_preset
def test_none_writes_prompts_anywhere(path):
    assert set(yaml.safe_load(path.read_text())) & TELL_TEXT == set()


@each_preset
def test_presets_and_the_operators_page_name_the_same_flags(path):
    table = (DOCS / "operating.md").read_text().partition("## SGLang")[2].partition("\n## ")[0]
    wanted = dict(re.findall(r"^\| `--([a-z0-9-]+)(?: (\w+))?`", table, re.M))
    assert {"schedule-policy", "enable-fp32-lm-head", "enable-metrics"} <= set(wanted)
    flags = yaml.safe_load(path.read_text())
    if "chat-template" in flags:
        del wanted["constrained-json-disable-any-whitespace"]  # a reranker writes no JSON
    assert {name: flags.get(name) for name in wanted} == {
        name: value or True for name, value in wanted.items()
    }
    assert "enable-mis" not in flags
