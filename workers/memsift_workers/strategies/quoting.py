"""How users' text enters a prompt: as data on one line that cannot pass for anything else.

Chat templates mark roles with control tokens: `<|im_start|>` (ChatML, Qwen), `<|start_header_id|>`
(Llama 3), `<start_of_turn>` (Gemma), `[INST]`, `<<SYS>>` (Llama 2, Mistral), `<｜User｜>` (DeepSeek). Each
needs an angle bracket or is a known word in square brackets, so no text without them can hold one. Taking out
line breaks keeps a memory from opening a section of its own.
"""

from __future__ import annotations

import re
from functools import lru_cache

from memsift_schemas.memory import Turn
from memsift_schemas.words import CACHED_TEXTS

_SQUARE = re.compile(
    r"\[(/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|ARGS|IMG|THINK|BOS|EOS|"
    r"CLS|SEP|MASK|PAD|UNK|gMASK|sMASK|sop|eop))\]",
    re.IGNORECASE,
)
# Format characters (Unicode category Cf) but for the joiners that scripts and emoji need: left in, they could
# reorder what a person reads or hide text between the letters of a control token.
_INVISIBLE = re.compile(
    "[\u00ad\u0600-\u0605\u061c\u06dd\u070f\u08e2\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\ufeff\ufff9-\ufffb\U000e0001\U000e0020-\U000e007f]"
)


@lru_cache(CACHED_TEXTS)
def quote(text: str) -> str:
    """One line of data: no control tokens of any common template, no line breaks, nothing invisible."""
    visible = text if text.isascii() else _INVISIBLE.sub("", text)
    data = visible.replace("<", "‹").replace(">", "›")
    if "[" in data:
        data = _SQUARE.sub(r"(\1)", data)
    if data.isprintable() and "  " not in data:
        return data.strip()  # what the next line would give, in a third of the time
    return " ".join(data.split())


def conversation(turns: tuple[Turn, ...], activity: tuple[str, ...], *, last: int) -> str:
    """The last turns and events as lines, oldest first; empty when there are none."""
    events = [f"(event) {quote(event)}" for event in activity[-last:]]
    lines = [f"{turn.role}: {quote(turn.text)}" for turn in turns[-last:]]
    return "".join(f"{line}\n" for line in events + lines)
