"""JSON that follows a schema, written greedily by OpenVINO GenAI's continuous-batching pipeline."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino_genai as genai

from memsift_workers.runtimes.base import Answer, Json

CACHE_GB = 1
"""KV cache of the pipeline, in GiB: the smallest it takes. Memory is only touched as it is used."""


class JsonWriter:
    """Loads its pipeline, with weights of its own, when the first JSON is asked for. Lives on one thread.

    Prefix caching is off: the pipeline has no way to keep the prompts of different namespaces apart.

    Args:
        folder: with `openvino_model.xml`.
        tokenizer: of the same model.
        threads: CPU threads; 0 takes one per core.
    """

    def __init__(self, folder: Path, tokenizer: genai.Tokenizer, *, threads: int) -> None:
        self._folder = folder
        self._tokenizer = tokenizer
        self._threads = threads
        self._ids = itertools.count()
        self._pipeline: genai.ContinuousBatchingPipeline | None = None

    def write(self, asked: Sequence[tuple[Json, Sequence[int]]], check: Callable[[], None]) -> list[Answer]:
        """Continue each prompt with JSON; text is cut off where `max_tokens` ends it.

        Args:
            asked: wish and prompt tokens of each.
            check: called before each step; what it raises cancels all of them.
        """
        if not asked:
            return []
        pipeline = self._pipeline = self._pipeline or self._load()
        handles = [
            pipeline.add_request(next(self._ids), ov.Tensor(np.array([tokens], np.int64)), _greedy(wish))
            for wish, tokens in asked
        ]
        try:
            while pipeline.has_non_finished_requests():
                check()
                pipeline.step()
        except BaseException:
            for handle in handles:
                handle.cancel()
            while pipeline.has_non_finished_requests():
                pipeline.step()
            raise
        return [self._answer(handle, len(tokens)) for handle, (_, tokens) in zip(handles, asked, strict=True)]

    def _answer(self, handle: Any, prompt_tokens: int) -> Answer:
        (output,) = handle.read_all()
        return Answer(
            text=self._tokenizer.decode(output.generated_ids),
            prompt_tokens=prompt_tokens,
            output_tokens=len(output.generated_ids),
        )

    def _load(self) -> genai.ContinuousBatchingPipeline:
        scheduler = genai.SchedulerConfig()
        scheduler.cache_size = CACHE_GB
        scheduler.enable_prefix_caching = False
        threads = {"INFERENCE_NUM_THREADS": self._threads} if self._threads else {}
        return genai.ContinuousBatchingPipeline(self._folder, self._tokenizer, scheduler, "CPU", **threads)


def _greedy(wish: Json) -> genai.GenerationConfig:
    config = genai.GenerationConfig()
    config.do_sample = False
    config.apply_chat_template = False
    config.max_new_tokens = wish.max_tokens
    config.structured_output_config = genai.StructuredOutputConfig(json_schema=json.dumps(wish.schema))
    return config
