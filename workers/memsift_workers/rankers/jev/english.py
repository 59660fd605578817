"""A light English tagger: a verb list and the shape of words, no model."""

from __future__ import annotations

import re

from memsift_schemas.words import STOPWORDS, stem

# Verbs of daily life, in base form. Words that are nouns at least as often (work, play, call, visit) are
# among them: a question that uses one asks what somebody does.
_VERBS = """
accept achieve add adopt advise agree allow announce apologise apologize apply appreciate argue arrange
arrive ask attend audition avoid bake be become begin believe book borrow break bring build buy call camp
cancel care carry catch celebrate change charge chat check choose clean climb collect come complain complete
compete cook cope create cry cut dance date decide decorate describe design develop die discover discuss
dislike divorce donate draw dream drink drive earn eat encourage end enjoy enter escape exercise expect
experience explain explore express fail fall feed feel fight fill find finish fish fix fly focus follow
forget forgive gain gather get give go graduate grow guess handle happen hate have hear help hide hike hire
hold hope host hug hurt improve inspire install intend introduce invest invite join jog keep kiss know land
laugh launch lead learn leave lend let lie lift like listen live look lose love make manage marry mean meet
mend mention miss move need notice offer open order organise organize own pack paint park participate pass
pay perform pick plan plant play practice practise prefer prepare present promise propose protect prove
publish put quit reach read realise realize receive recommend recover refuse relax remember remind rent
repair reply request research retire return ride run save say see sell send serve share shop show sign sing
sit sleep speak spend stand start stay stop study succeed suggest support surprise survive swim take talk
teach tell thank think train travel treat try turn use visit volunteer wait wake walk want wash watch wear
win wish work worry write
"""
VERB_STEMS = frozenset(stem(verb) for verb in _VERBS.split() if verb not in STOPWORDS)

_TIMES = """
today tonight tomorrow yesterday morning afternoon evening night noon midnight week weekend month year day
monday tuesday wednesday thursday friday saturday sunday january february march april june july august
september october november december recently lately last next ago spring summer autumn winter
"""
TIME_STEMS = frozenset(stem(word) for word in _TIMES.split())

_KIN = """
mother mom mum mommy father dad daddy wife husband partner boyfriend girlfriend son daughter brother sister
grandmother grandma granny grandfather grandpa aunt uncle cousin nephew niece boss colleague neighbour
neighbor roommate flatmate
"""
KIN_STEMS = frozenset(stem(word) for word in _KIN.split())

_TOKEN = re.compile(r"[^\W_]+")
_NAME_GOES_ON = re.compile("[:'’]| [A-Z]")
_SENTENCE_END = '.!?:;\n"“”'
_NO_NAMES = TIME_STEMS | {"user", "assistant", "ok", "okay", "mr", "mrs", "ms", "dr"}


def names_en(text: str) -> frozenset[str]:
    """Stems of words that are written as names.

    A capital inside a sentence makes a name; at its beginning only with what goes on as names do.

    Args:
        text: as it was written.
    """
    found = set()
    for match in _TOKEN.finditer(text):
        word = match.group()
        if not word[0].isupper() or len(word) == 1 or not word.isascii():
            continue
        lower = word.lower()
        base = stem(lower)
        if lower in STOPWORDS or base in _NO_NAMES:
            continue
        before = text[: match.start()].rstrip(" '(")
        at_start = not before or before[-1] in _SENTENCE_END
        if at_start and (base in VERB_STEMS or not _name_follows(text, match.end())):
            continue
        found.add(base)
    return frozenset(found)


def _name_follows(text: str, end: int) -> bool:
    """Whether a sentence's first word goes on as names do: "Mara: ...", "Tom's", "Ruth Pellow"."""
    return _NAME_GOES_ON.match(text, end) is not None
