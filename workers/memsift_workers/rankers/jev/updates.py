"""Memories that correct older ones: 换成, "no longer", "from now on".

What holds now is often told in other words than what held before: "Dr. Pell has left the practice; from now
on Dr. Boone" shares less with "Which cardiologist do I see?" than the old entry does. But it shares words
with that entry, and it says that something changed.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache

import numpy as np

from memsift_schemas.words import CACHED_TEXTS
from memsift_workers.rankers.jev.analysis import Text
from memsift_workers.rankers.jev.lexical import Floats

# Share of the words, weighed by idf, that a correction has in common with what it corrects. Of .08 to .22 the
# one at which our set `time` gains (MRR of its superseded facts .594 to .751) and no public set loses more
# than .002.
_LEAST_SHARED = 0.22

_CHANGED = re.compile(
    r"\b(?:moved|no longer|not any ?more|from now on|as of|switched|changed|new|replaced|has left|cancell?ed"
    r"|called off|quit|stopped|gave up|given up|retired|postponed|rescheduled|first day)\b"
    "|换成|换了|换到|改成|改到|改为|改从|改由|改在|改吃|不再|停了|停机|取消|退休|搬到|搬家|搬去|搬进|辞职|离职|入职"
    "|新(?:的|号|电话|手机|地址|住址|工作|公司|领导|老板|上司|房|家|岗|部门|医生|老师|单位|学校|办公室)|[月天年]起"
    "|现在|以后|不做了|不干了|转到|转岗|调到|推迟|提前到|分手|离婚|卖了|戒了"
)
_ABOUT_THE_PAST = re.compile(
    r"\b(?:did|was|were|had|used to|before|previous|previously|old|former|first|last|ago)\b"
    "|以前|之前|原来|当时|曾|过去|上次|去年|前年|那时|[了过]吗|是哪天|什么时候.*的"
)


def updates(
    folded_query: str, texts: Sequence[Text], created: Sequence[datetime | None], fit: Floats
) -> Floats | None:
    """How much better an older memory fits the question than the one that corrects it; else 0.

    Weighed with 1, a correction comes level with what it corrects, and recency decides.

    Args:
        folded_query: the question, folded.
        texts: the memories.
        created: when each was learned; one whose time is unknown neither corrects nor is corrected.
        fit: how well each fits the question's words.

    Returns:
        One number per memory, 0 or more; None when the question is about the past or nothing is corrected.
    """
    corrections = [at for at, text in enumerate(texts) if _tells_change(text.folded)]
    if not corrections or _ABOUT_THE_PAST.search(folded_query):
        return None
    holders = Counter(term for text in texts for term in text.counts)
    idf = {term: math.log1p((len(texts) - n + 0.5) / (n + 0.5)) for term, n in holders.items()}
    mass = [sum(idf[term] for term in text.counts) for text in texts]
    gained = np.zeros(len(texts))
    for new in corrections:
        for old in np.flatnonzero(fit > fit[new]).tolist():
            if not _precedes(created[old], created[new]):
                continue
            shared = sum(idf[term] for term in texts[new].counts.keys() & texts[old].counts.keys())
            if shared > _LEAST_SHARED * math.sqrt(mass[new] * mass[old]):
                gained[new] = max(gained[new], fit[old] - fit[new])
    return gained


def _precedes(old: datetime | None, new: datetime | None) -> bool:
    return old is not None and new is not None and old < new


@lru_cache(CACHED_TEXTS)
def _tells_change(folded: str) -> bool:
    return _CHANGED.search(folded) is not None
