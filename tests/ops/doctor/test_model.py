"""A runtime that is away, a template or labels that do not fit, a cache that does not work: each is named."""

import pytest

from memsift_ops import valkey
from memsift_ops.doctor import model
from memsift_schemas.settings import WorkerSettings
from tests.ops.doctor.conftest import faults
from tests.sglang_cpu.server import Server
from tests.workers.runtimes.fake_sglang import FakeSGLang


async def look(start_s=5.0, **settings):
    told = WorkerSettings(**{"runtime": "sglang", **settings})
    return {one.check: one async for one in model.look(told, start_s=start_s)}


async def test_a_runtime_that_is_away_is_named():
    findings = await look(start_s=0.3, sglang_url=f"http://127.0.0.1:{valkey.free_port()}")
    assert faults(findings.values()) == ["runtime"]
    assert "MEMSIFT_SGLANG_URL" in findings["runtime"].remedy


async def test_a_model_that_is_not_there_is_named(tmp_path):
    findings = await look(runtime="embedded", model=str(tmp_path / "none"))
    assert faults(findings.values()) == ["runtime"]
    assert "memsift model pull" in findings["runtime"].remedy


async def test_a_server_on_which_all_is_well():
    async with FakeSGLang() as server:
        findings = await look(sglang_url=server.url)
    assert {one.state for one in findings.values()} == {"ok"}
    assert set(findings) == {"runtime", "runtime.labels", "runtime.template", "runtime.cache"}


async def test_labels_of_two_tokens_are_named():
    # Given a tokenizer that makes one token of two characters, and the labels "yes" and "no"
    async with FakeSGLang() as server:
        findings = await look(sglang_url=server.url, strategy="pointwise", chat_template="plain")
    assert faults(findings.values()) == ["runtime.labels"]
    assert "yes" in findings["runtime.labels"].told
    assert "MEMSIFT_STRATEGY" in findings["runtime.labels"].remedy


async def test_a_server_that_keeps_nothing_is_named():
    class Forgetful(FakeSGLang):
        def _complete(self, ids, value):
            self._seen = {}
            return super()._complete(ids, value)

    async with Forgetful() as server:
        findings = await look(sglang_url=server.url)
    assert faults(findings.values()) == ["runtime.cache"]
    assert "--disable-radix-cache" in findings["runtime.cache"].remedy


class Model:
    """A runtime whose vocabulary has these marks, and that begins with a thought where one is told."""

    def __init__(self, *marks, thinks=0.0):
        self.marks, self.thinks = marks, thinks

    async def usable_labels(self, labels):
        return tuple(label for label in labels if label in self.marks)

    async def run(self, calls, *, timeout):
        from math import log

        from memsift_workers.runtimes.base import Answer

        return [Answer(logprobs=(log(self.thinks),)) for _ in calls]


CHATML = ("<|im_start|>", "<|im_end|>")


@pytest.mark.parametrize(
    ("runtime", "template", "state", "says"),
    [
        (Model(*CHATML), "chatml", "ok", ""),
        (Model(*CHATML), "llama3", "fault", "MEMSIFT_CHAT_TEMPLATE=chatml"),
        (Model("<start_of_turn>", "<end_of_turn>"), "chatml", "fault", "MEMSIFT_CHAT_TEMPLATE=gemma"),
        (Model(), "chatml", "fault", "MEMSIFT_CHAT_TEMPLATE=plain"),
        (Model(), "plain", "ok", ""),
        (Model(*CHATML, "<think>", "</think>", thinks=0.9), "chatml", "fault", "qwen3-no-think"),
        (Model(*CHATML, "<think>", "</think>", thinks=0.01), "qwen3-no-think", "ok", ""),
    ],
)
async def test_a_template_that_does_not_fit_is_named_with_one_that_does(runtime, template, state, says):
    finding = await model._template(runtime, template)
    assert finding.state == state
    assert says in finding.remedy


@pytest.mark.engine
async def test_the_embedded_engine_with_a_wrong_and_a_right_template(embedded_runtime):
    for template, state in (("gemma", "fault"), ("chatml", "ok")):
        assert (await model._template(embedded_runtime, template)).state == state
    assert (await model._cache(embedded_runtime, WorkerSettings())).state == "ok"


@pytest.mark.sglang
@pytest.mark.timeout(600)  # starts a second server
async def test_a_real_server_with_its_cache_off_is_named(sglang_server):
    # Given one server as it should be, and one that was told to keep nothing
    asked = {"strategy": "pointwise", "chat_template": "chatml", "start_s": 60.0}
    findings = await look(sglang_url=sglang_server, **asked)
    assert {one.state for one in findings.values()} == {"ok"}, findings
    wrong = Server(flags=("--disable-radix-cache",))
    wrong.start()
    try:
        findings = await look(sglang_url=wrong.url, **asked)
    finally:
        wrong.stop()
    assert faults(findings.values()) == ["runtime.cache"]
    # And the template of another model
    findings = await look(sglang_url=sglang_server, **{**asked, "chat_template": "llama3"})
    assert faults(findings.values()) == ["runtime.template"]
