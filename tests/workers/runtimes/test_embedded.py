"""The embedded engine with its real model: what the contract suite does not ask of every runtime."""

import asyncio
import uuid
from pathlib import Path

import numpy as np
import pytest

from memsift_workers.models.openvino_ir import openvino_folder
from memsift_workers.models.store import pull_default_model
from memsift_workers.runtimes.base import (
    Call,
    Json,
    Labels,
    Likelihood,
    RuntimeMisconfigured,
    RuntimeTimeout,
    RuntimeUnavailable,
)
from memsift_workers.runtimes.embedded import EmbeddedRuntime
from memsift_workers.runtimes.paged_model import PagedModel
from tests.engine_fixtures import embedded_runtime

__all__ = ["embedded_runtime"]

pytestmark = pytest.mark.engine

MEMORIES = {
    "en": [
        "Robin moved to the flat by the harbour in May and still misses the old garden behind the house.",
        "The dentist's practice on Mill Road is closed on Wednesdays, so appointments are made for Thursday "
        "mornings before work, and Robin always asks for the same assistant because she explains each step.",
        "On the last trip to the coast Robin's brother rented two bicycles, rode out to the lighthouse with "
        "a picnic of bread, cheese and apples, lost the key of the lock in the sand, and had to carry one of "
        "the bicycles all the way back to the station in the rain, which both still laugh about today.",
    ],
    "zh": [
        "小林五月搬到了港口旁边的公寓，到现在还很想念老房子后面的花园。",
        "米尔路的牙科诊所每周三休息，所以小林总是约在周四早上上班之前，而且每次都找同一位助手，因为她会把每一步都讲清楚。",
        "上次去海边的时候，小林的哥哥租了两辆自行车，带着面包、奶酪和苹果骑到灯塔野餐，结果把车锁的钥匙掉在了沙子里，"
        "只好冒雨把其中一辆车一路扛回车站，这件事他们俩到现在说起来还会笑。",
    ],
}
QUESTIONS = {
    "en": [" When is the dentist closed?", " What got lost at the lighthouse?"],
    "zh": ["牙科诊所哪天休息？", "在灯塔弄丢了什么？"],
}
ASKS = {"en": "\nA question that this memory answers:", "zh": "\n根据这条记忆可以回答的问题："}


def calls(tongue, question, namespace, memories=None):
    return [
        Call((f"Memory: {memory}{ASKS[tongue]}",), question, Likelihood(), namespace)
        for memory in memories or MEMORIES[tongue]
    ]


# With AVX-512 the bits are the same; the kernels that OpenVINO takes without it depend on the batch's shape,
# and the same token's log-probability was up to 0.06 apart (AMD EPYC without AVX-512).
HAS_AVX512 = "avx512f" in Path("/proc/cpuinfo").read_text()
TOLERANCE = 0.0 if HAS_AVX512 else 0.2


def alike(answers, others):
    """Whether two runs of the same calls gave the same."""
    return all(
        one.logprobs == pytest.approx(other.logprobs, abs=TOLERANCE, rel=0)
        for one, other in zip(answers, others, strict=True)
    )


@pytest.fixture
def someone():
    """A namespace that no other test has."""
    return uuid.uuid4().hex


@pytest.mark.parametrize("tongue", ["en", "zh"])
async def test_cold_warm_alone_and_in_any_company_the_answer_is_the_same(embedded_runtime, tongue, someone):
    asked = calls(tongue, QUESTIONS[tongue][0], someone)
    cold = await embedded_runtime.run(asked, timeout=60)
    warm = await embedded_runtime.run(asked, timeout=60)
    alone = [(await embedded_runtime.run([one], timeout=60))[0] for one in asked]
    others = calls("en", QUESTIONS["en"][1], "other") + calls("zh", QUESTIONS["zh"][1], "other")
    company = await embedded_runtime.run([*others, *reversed(asked)], timeout=60)
    assert {answer.cached_tokens for answer in cold} == {0}
    assert all(answer.cached_tokens for answer in warm)
    for again in (warm, alone, list(reversed(company[len(others) :]))):
        assert alike(cold, again)


@pytest.mark.parametrize("tongue", ["en", "zh"])
async def test_from_the_second_question_on_more_than_half_comes_from_the_cache(
    embedded_runtime, tongue, someone
):
    await embedded_runtime.run(calls(tongue, QUESTIONS[tongue][0], someone), timeout=60)
    for answer in await embedded_runtime.run(calls(tongue, QUESTIONS[tongue][1], someone), timeout=60):
        assert answer.cached_tokens > answer.prompt_tokens / 2


async def test_a_question_that_begins_like_an_earlier_one_repeats_its_logprobs(embedded_runtime, someone):
    (question, _), more = (
        QUESTIONS["en"],
        " And why is it closed on that day, of all the days of the week?" * 3,
    )
    (first,) = await embedded_runtime.run(calls("en", question, someone)[:1], timeout=60)
    (second,) = await embedded_runtime.run(calls("en", question + more, someone)[:1], timeout=60)
    assert second.logprobs[: len(first.logprobs)] == pytest.approx(first.logprobs, abs=TOLERANCE)
    assert len(second.logprobs) > 32 + len(first.logprobs)


async def test_the_logprobs_are_those_of_the_librarys_own_pipeline(embedded_runtime):
    """It computes prompt log-probabilities in 32-bit floats outside the graph, without a cached prefix."""
    import openvino as ov
    import openvino_genai as genai

    scheduler = genai.SchedulerConfig()
    scheduler.cache_size, scheduler.enable_prefix_caching = 1, False
    pipeline = genai.ContinuousBatchingPipeline(openvino_folder(pull_default_model()), scheduler, "CPU")
    config = genai.GenerationConfig()
    config.max_new_tokens, config.echo, config.apply_chat_template = 1, True, False
    tokenizer, asked = pipeline.get_tokenizer(), calls("en", QUESTIONS["en"][0], "u")
    theirs = []
    for call in asked:
        texts = ("".join(call.prefix), call.suffix)
        parts = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
        prefix, suffix = (part.input_ids.data[0] for part in parts)
        ids = ov.Tensor(np.concatenate([prefix, suffix])[None])
        handle = pipeline.add_request(len(theirs), ids, config)
        while pipeline.has_non_finished_requests():
            pipeline.step()
        theirs.append(handle.read_all()[0].generated_log_probs[len(prefix) :][: len(suffix)])
    ours = await embedded_runtime.run(asked, timeout=60)
    for own, other in zip([one.logprobs for one in ours], theirs, strict=True):
        # 0.03 is the rounding of 16-bit logits; the rest is 8-bit activations and KV.
        assert np.abs(np.array(own) - np.array(other)).mean() < 0.15


async def test_labels_are_read_where_the_suffix_ends(embedded_runtime, someone):
    text = "The capital of France is Paris. The capital of France is"
    labels = (" Paris", " London", " bread")
    (answer,) = await embedded_runtime.run(
        [Call((text[:31],), text[31:], Labels(labels), someone)], timeout=60
    )
    paris, london, bread = answer.logprobs
    assert paris > london > bread
    (whole,) = await embedded_runtime.run([Call((text,), labels[0], Likelihood(), someone)], timeout=60)
    assert whole.logprobs == pytest.approx((paris,), abs=0.15)
    assert whole.prompt_tokens == answer.prompt_tokens + 1


async def test_a_prompt_without_a_prefix_has_all_its_logprobs(embedded_runtime, someone):
    (bare,) = await embedded_runtime.run([Call(("",), "The sun is hot.", Likelihood(), someone)], timeout=60)
    assert len(bare.logprobs) == 5


async def test_namespaces_share_no_cached_tokens(embedded_runtime, someone):
    mine = calls("en", QUESTIONS["en"][0], someone)
    theirs = calls("en", QUESTIONS["en"][0], f"not {someone}")
    await embedded_runtime.run(mine, timeout=60)
    assert {answer.cached_tokens for answer in await embedded_runtime.run(theirs, timeout=60)} == {0}


async def test_the_event_loop_goes_on_while_the_engine_computes(embedded_runtime, someone):
    heavy = calls("en", QUESTIONS["en"][0], someone, [f"{at} {MEMORIES['en'][2] * 2}" for at in range(20)])
    running = asyncio.create_task(embedded_runtime.run(heavy, timeout=60))
    turns = 0
    while not running.done():
        await asyncio.sleep(0.002)
        turns += 1
    assert turns > 10
    assert len(await running) == 20


@pytest.mark.parametrize("how", ["timeout", "cancel"])
async def test_work_that_nobody_waits_for_stops_before_the_next_step(
    embedded_runtime, monkeypatch, someone, how
):
    steps, forward, stepped = [], PagedModel.forward, asyncio.Event()
    loop = asyncio.get_running_loop()

    def counted(model, slices):
        steps.append(len(slices))
        loop.call_soon_threadsafe(stepped.set)
        return forward(model, slices)

    monkeypatch.setattr(PagedModel, "forward", counted)
    # About 60 steps.
    heavy = calls("en", QUESTIONS["en"][0], someone, [f"{at} {MEMORIES['en'][2] * 6}" for at in range(60)])
    if how == "timeout":
        with pytest.raises(RuntimeTimeout):
            await embedded_runtime.run(heavy, timeout=0.05)
    else:
        running = asyncio.create_task(embedded_runtime.run(heavy, timeout=60))
        await stepped.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    (answer,) = await embedded_runtime.run(calls("en", " Where?", someone)[:1], timeout=60)
    assert answer.logprobs
    assert len(steps) < 20


async def test_a_cancelled_json_leaves_the_pipeline_usable(embedded_runtime, someone):
    schema = {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1, "maxItems": 400}
    wish = Json(schema, max_tokens=1000)
    running = asyncio.create_task(
        embedded_runtime.run([Call(("Some letters",), " as JSON:", wish, someone)], timeout=60)
    )
    await asyncio.sleep(0.5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    short = Json({"const": "done"}, max_tokens=9)
    (answer,) = await embedded_runtime.run([Call(("A word",), " as JSON:", short, someone)], timeout=60)
    assert answer.text == '"done"'
    assert answer.output_tokens


async def test_closing_ends_what_is_under_way():
    runtime = EmbeddedRuntime(pull_default_model(), cache_mb=64)
    await runtime.start()
    heavy = calls("en", QUESTIONS["en"][0], "u", [f"{at} {MEMORIES['en'][2] * 6}" for at in range(60)])
    running = asyncio.create_task(runtime.run(heavy, timeout=60))
    await asyncio.sleep(0.2)
    await runtime.close()
    with pytest.raises(RuntimeUnavailable, match="closed"):
        await running
    await runtime.close()
    with pytest.raises(RuntimeUnavailable, match="closed"):
        await runtime.run(calls("en", " Where?", "u"), timeout=60)


async def test_a_cache_that_one_prompt_does_not_fit_into_is_said_with_the_setting():
    runtime = EmbeddedRuntime(pull_default_model(), cache_mb=11)
    await runtime.start()
    with pytest.raises(RuntimeMisconfigured, match="MEMSIFT_EMBEDDED_CACHE_MB"):
        await runtime.run(calls("en", " Where?", "u", [MEMORIES["en"][2] * 20]), timeout=60)
    await runtime.close()


async def test_before_the_start_it_is_unavailable(tmp_path):
    runtime = EmbeddedRuntime(tmp_path / "any.gguf")
    with pytest.raises(RuntimeUnavailable, match="not started"):
        await runtime.run(calls("en", " Where?", "u"), timeout=60)
    await runtime.close()


async def test_a_file_that_is_no_model_is_named_at_start(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMSIFT_CACHE_DIR", str(tmp_path / "cache"))
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF and then nothing that makes sense")
    runtime = EmbeddedRuntime(broken)
    with pytest.raises(RuntimeMisconfigured, match=r"broken\.gguf"):
        await runtime.start()
    await runtime.close()
    assert list((tmp_path / "cache").glob("*/.convert-*")) == []
