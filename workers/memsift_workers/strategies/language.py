"""Which language a question is in, as far as prompts and weights depend on it."""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["zh", "en"]

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[A-Za-z]+")


def language(text: str) -> Language:
    """`zh` when there are at least as many Chinese characters as Latin words, and any at all."""
    han = len(_HAN.findall(text))
    return "zh" if han and han >= len(_WORD.findall(text)) else "en"
