"""Child process of `openvino_ir`: convert the GGUF file that is named, beside it."""

from __future__ import annotations

import sys

import openvino_genai as genai


def convert(gguf: str) -> None:
    """Write `openvino_model.xml`, `openvino_tokenizer.xml` and their weights into the file's folder."""
    scheduler = genai.SchedulerConfig()
    scheduler.num_kv_blocks = 1
    genai.Tokenizer(gguf, enable_save_ov_model=True)
    genai.ContinuousBatchingPipeline(gguf, scheduler, "CPU", {"enable_save_ov_model": True})


if __name__ == "__main__":
    convert(sys.argv[1])
