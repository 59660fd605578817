"""Chat templates of the common instruct models, as text around a system and a user message.

Written out here and not taken from the model's own Jinja template, because a prompt must be split at the
border between what is cached and what is new.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Template:
    """Text before the system message, between it and the user's, and between the user's and the answer."""

    before_system: str
    before_user: str
    before_answer: str

    def opening(self, system: str) -> str:
        """Everything up to where the user's message starts."""
        return f"{self.before_system}{system}{self.before_user}"


TEMPLATES: dict[str, Template] = {
    # Qwen, SmolLM2 and most others: https://github.com/openai/openai-python/blob/v0.28.1/chatml.md
    "chatml": Template(
        "<|im_start|>system\n", "<|im_end|>\n<|im_start|>user\n", "<|im_end|>\n<|im_start|>assistant\n"
    ),
    # Qwen3 hybrid models answer at once only after an empty thought.
    "qwen3-no-think": Template(
        "<|im_start|>system\n",
        "<|im_end|>\n<|im_start|>user\n",
        "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    ),
    # https://www.llama.com/docs/model-cards-and-prompt-formats/llama3_1/ (the tokenizer adds the BOS)
    "llama3": Template(
        "<|start_header_id|>system<|end_header_id|>\n\n",
        "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n",
        "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    # https://ai.google.dev/gemma/docs/core/prompt-structure: no system role, it opens the user's message
    "gemma": Template("<start_of_turn>user\n", "\n\n", "<end_of_turn>\n<start_of_turn>model\n"),
    "plain": Template("", "\n\n", "\n"),
}
