"""What kind a memory is, guessed from its words when nobody said; and the order of kinds in the prompt."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from memsift_schemas.memory import Kind, Memory
from memsift_schemas.words import CACHED_TEXTS, fold

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_PERIOD = rf"(?:week(?:end)?|month|year|spring|summer|autumn|fall|winter|{_WEEKDAY}|{_MONTH})"
_FEW = r"(?:\d+|an?|one|two|three|four|five|six|a\ few)"

# A day or a stretch of time that the calendar knows: the memory is about something that passes.
_DATE = re.compile(
    rf"""\b(?: today | tonight | tomorrow | yesterday
    | {_MONTH}\.?\ \d{{1,2}}(?:st|nd|rd|th)? | \d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}
    | (?:in|since|until|by|early|late|mid)[\ -]{_MONTH} | (?:next|last|this|coming|past)\ {_PERIOD}
    | (?:in|within)\ {_FEW}\ (?:hour|day|week|month)s?
    | {_FEW}\ (?:hour|day|week|month)s?\ (?:ago|later|from\ now)
    | \d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}} | \d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})? )\b""",
    re.VERBOSE,
)
_CHINESE_DATE = re.compile(
    r"""\d{1,2}\ ?月\ ?\d{1,2}\ ?[日号] | [一二三四五六七八九十]{1,2}月[一二三四五六七八九十]{1,3}[日号]
    | [今明后昨前]天 | 今晚 | 明[早晚] | 昨[夜晚] | [明后去]年
    | [上下本这]个?(?:周|星期|礼拜|月) | [周月年][底末初]
    | [\d一两二三四五六七八九十几]+(?:天|周|个星期|个月|小时)(?:之?[前后]|内)""",
    re.VERBOSE,
)
# "like" and "love" count as verbs only behind a subject or an adverb: "looks like rain", "family love".
_PREFERENCE = re.compile(
    r"""\b(?: prefer\w* | favou?rites? | likes(?!\ of) | loves | loved | enjoy\w* | hat(?:e|es|ed)
    | (?:i|we|they|you|user|people|also|really|not|never|always|\w+n['’]t)\ (?:like|love)d?
    | dislik\w+ | detest\w* | ador(?:e|es|ed) | fond\ of | (?:big|huge|a)\ fan\ of | keen\ on
    | allerg\w+ | intoleran(?:t|ce) | vegetarian | vegan | can(?:not|'t|’t)\ (?:stand|bear|eat|drink)
    | rather\ not )\b""",
    re.VERBOSE,
)
_CHINESE_PREFERENCE = re.compile(
    "喜欢|喜爱|偏好|偏爱|钟爱|热爱|最爱|爱[吃喝看听玩穿用]|爱好|讨厌|厌恶|反感|不爱|受不了|过敏|忌口"
    "|不[吃喝][^了]|素食|吃素|更愿意|宁愿|宁可|习惯[用喝吃坐住在早晚]"
)
# A time that may as well recur: "on Mondays", "at 7 am". It counts when no preference is stated.
_TIME = re.compile(
    rf"\b(?:{_WEEKDAY}s?|at (?:noon|midnight)|\d{{1,2}}:\d{{2}}|\d{{1,2}} ?[ap]\.?m)\b",
)
_CHINESE_TIME = re.compile(
    r"(?:周|星期|礼拜)[一二三四五六日天]|(?:\d{1,2}|[二两三四五六七八九]|十[一二]?)点(?![心子评赞击菜餐缀滴])"
)

# Whatever `_DATE` or `_TIME` matches has a digit or one of these in it, and what `_PREFERENCE` does, one of
# those: looking for them takes a tenth of the time.
_DIGIT = re.compile(r"\d")
_TIMELY = (
    *("day", "tonight", "tomorrow", "hour", "week", "month", "year", "noon", "midnight"),
    *("spring", "summer", "autumn", "fall", "winter"),
    *("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
)
_TASTES = (
    *("prefer", "favo", "like", "love", "enjoy", "hate", "dislik", "detest", "ador", "fond of", "fan of"),
    *("keen on", "allerg", "intoleran", "vegetarian", "vegan", "cannot", "can't", "can’t", "rather not"),
)

# The prompt's order: what passes first, then taste, then what simply is.
_ORDER = {
    kind: place for place, kind in enumerate((Kind.TIME_BOUND, Kind.PREFERENCE, Kind.FACT, Kind.UNKNOWN))
}


@lru_cache(CACHED_TEXTS)
def guess_kind(text: str) -> Kind:
    """Guess a memory's kind: a date makes it time-bound; else a stated taste, a preference; else a fact.

    A time of day or a bare weekday makes a memory time-bound only where no taste is stated: "I prefer
    meetings after 3 pm" is a preference. It is a guess: whoever stores memories may know better and say so
    in `Memory.kind`.

    Returns:
        Any kind but `unknown`.
    """
    folded = fold(text)
    # All that the Chinese patterns match has a Chinese character in it.
    chinese = not folded.isascii()
    timely = _holds(folded, _TIMELY) or _DIGIT.search(folded)
    if (timely and _DATE.search(folded)) or (chinese and _CHINESE_DATE.search(folded)):
        return Kind.TIME_BOUND
    if (_holds(folded, _TASTES) and _PREFERENCE.search(folded)) or (
        chinese and _CHINESE_PREFERENCE.search(folded)
    ):
        return Kind.PREFERENCE
    if (timely and _TIME.search(folded)) or (chinese and _CHINESE_TIME.search(folded)):
        return Kind.TIME_BOUND
    return Kind.FACT


def _holds(text: str, pieces: Iterable[str]) -> bool:
    return any(piece in text for piece in pieces)


def with_kind(memory: Memory) -> Memory:
    """The memory with its kind guessed where it is `unknown`; a kind that was set always stays."""
    if memory.kind is not Kind.UNKNOWN:
        return memory
    return memory.model_copy(update={"kind": guess_kind(memory.text)})


def by_kind(memories: Iterable[Memory]) -> tuple[Memory, ...]:
    """Order memories for the prompt: time-bound, preferences, facts; within a kind the order given stays.

    For the prompt's layout alone. As a ranking it would put every dated memory above the one that answers:
    on the evaluation sets hit@3 of the prefilter falls from .83 to .45 and MRR from .73 to .42.
    """
    return tuple(sorted(memories, key=lambda memory: _ORDER[memory.kind]))
