# mypy: disable-error-code="import-not-found"
"""Turn a GGUF file into a Hugging Face model folder, which is what SGLang loads on a CPU.

    python convert.py MODEL.gguf OUT_DIR

Runs in the server's environment (torch, transformers, gguf), not in the tests'. The weights are dequantised
to bfloat16: transformers can also keep them packed, but then does not save them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig


def convert(gguf: Path, out: Path) -> None:
    """Write weights, configuration, chat template and tokenizer of `gguf` into the folder `out`."""
    source = {"pretrained_model_name_or_path": gguf.parent, "gguf_file": gguf.name}
    model = AutoModelForCausalLM.from_pretrained(
        **source, dtype=torch.bfloat16, quantization_config=GgufConfig(dequantize=True)
    )
    # The quantiser that read the file cannot write one, and would refuse to save.
    model.hf_quantizer = None
    model.save_pretrained(out)
    AutoTokenizer.from_pretrained(**source).save_pretrained(out)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=convert.__doc__)
    parser.add_argument("gguf", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    convert(arguments.gguf.resolve(), arguments.out)
