"""Vectors of the prefilter: texts and what it sees in them, memories and how it ranks them."""

from datetime import timedelta

from memsift_ops import datasets
from memsift_producer.prefilter import prefilter
from memsift_producer.prefilter.kinds import guess_kind
from memsift_schemas import Memory
from memsift_schemas.job import MAX_CANDIDATES
from memsift_schemas.settings import ProducerSettings
from memsift_schemas.text import clean, cut
from memsift_schemas.words import HAN, fold, stem, terms
from tests.data import test_time_set
from tests.producer.prefilter.test_duplicates import DIFFERENT, PARTICULARS, REWORDED
from tests.producer.prefilter.test_kinds import FACT, PREFERENCE, TIME_BOUND
from tests.samples import NOW, TEXTS, memory

SET = test_time_set.HERE
SETTINGS = ProducerSettings.model_construct()  # the defaults, whatever the environment says
STEMMED = """
pass running tried bus 30s ate went cities city boxes planned parties plan wives children glasses this
organised called falling tied dies houses makes use ice red see a café naïve größe
"""
UNCLEAN = (
    "a\x00b\x1bc",
    "line one\r\nline two\tend",
    "c1\x85control",
    "日程：周三 10 点 😀",
    "fine",
    "\ufeffa\u3000",
)
LONG = (
    ("First one. Second one. Third", 25),
    ("她周三去上海。回来后要写报告。还有别的事", 16),
    ("no sentence ends anywhere in here", 20),
    ("x" * 30, 10),
    ("version 3.14 is out now", 12),
    ("😀" * 8, 5),
    ("short", 5),
    ('He said "no!" And then', 15),
)
# Six texts of which two say the same by their embeddings alone.
ALIKE = (
    "I can't bear noisy restaurants",
    "I do not cope with loud eateries",
    "I can bear noisy restaurants",
    "Mara lent Jonas money",
    "Jonas lent Mara money",
    "我受不了吵闹的餐馆",
)


def words():
    """Terms of English texts, stems, kinds of both languages, and how text is cleaned and cut."""
    kinds = dict.fromkeys((*TIME_BOUND, *PREFERENCE, *FACT, *TEXTS, *_time_texts()))
    english = [text for text in kinds if not HAN.search(text)]
    return {
        "terms": [{"text": text, "terms": dict(sorted(terms(fold(text)).items()))} for text in english],
        "stems": {word: stem(word) for word in STEMMED.split()},
        "kinds": {text: guess_kind(text) for text in kinds},
        "clean": [{"text": text, "clean": clean(text)} for text in UNCLEAN],
        "cut": [
            dict(zip(("text", "limit", "cut", "was_cut"), (text, limit, *cut(text, limit)), strict=True))
            for text, limit in LONG
        ],
    }


def rankings():
    """Small stores that show one promise each; English but where it says otherwise."""
    cases = {
        "six memories": {"memories": _six()},
        "only two go on": {"memories": _six(), "keep": 2},
        "no similarities": {"memories": _six(similarity=None)},
        "some similarities": {"memories": [*_six()[:3], *_six(similarity=None)[3:]]},
        "unknown times": {"memories": [*_six(created_at=None)[:3], *_six()[3:]]},
        "a question of stopwords": {"memories": _six(), "query": "What was it?"},
        "times to come": {"memories": _six(created_at=NOW + timedelta(days=3))},
        "ties": {
            "memories": [
                memory(at, text=text, created_at=NOW, similarity=None)
                for at, text in enumerate(("red", "green", "blue", "black", "white", "brown", "pink"))
            ]
        },
        "one memory": {"memories": _six()[:1]},
        "huge similarities": {"memories": [_with(one, similarity=one.similarity * 1e300) for one in _six()]},
        "embeddings": {
            "memories": [
                memory(at, similarity=None, embedding=vector, created_at=NOW)
                for at, vector in enumerate([(0.1, 1.0), (1.0, 0.1), (0.7, 0.7), (0.0, 0.0)])
            ],
            "query_embedding": [2.0, 0.0],
        },
        "embeddings of another length": {
            "memories": [_with(one, embedding=(1.0, float(at), 0.5)) for at, one in enumerate(_six())],
            "query_embedding": [2.0, 0.0],
        },
        "reworded, by embedding": {
            "memories": [
                memory(at, text=text, embedding=(1.0, 0.1, at / 100)) for at, text in enumerate(ALIKE)
            ],
            "query_embedding": [1.0, 0.0, 0.0],
        },
        **{
            f"{name} {at}": {"memories": [memory(0, text=newer), memory(1, text=older), *_six()[2:]]}
            for name, pairs in (("reworded", REWORDED), ("different", DIFFERENT))
            for at, (older, newer) in enumerate(pairs)
        },
        # What an embedding alone cannot tell apart.
        **{
            f"different, with one embedding {at}": {
                "memories": [
                    memory(0, text=newer, embedding=(0.6, 0.8)),
                    memory(1, text=older, embedding=(0.6, 0.8)),
                ]
            }
            for at, (older, newer) in enumerate(PARTICULARS)
        },
    }
    return [_case(name, **case) for name, case in cases.items()]


def questions():
    """How the questions of tests/data/time.* get their memories ordered: places among the candidates."""
    ranked = []
    for query in datasets.load(SET, "time", seed=None, unanswerable=True):
        memories = query.memories
        places = {one.id: at for at, one in enumerate(memories)}
        found = _ranked(query.query, memories, now=query.now)
        order = [places[id_] for id_ in (*(one.id for one in found.kept), *found.pruned)]
        ranked.append({"id": query.id, "lang": query.lang, "order": order, "kept": len(found.kept)})
    return ranked


def _case(name, *, memories, query="Where is the spare key to the cabin?", keep=20, query_embedding=None):
    found = _ranked(query, memories, keep=keep, query_embedding=query_embedding)
    return {
        "name": name,
        "query": query,
        "now": NOW.isoformat(),
        "keep": keep,
        "query_embedding": query_embedding,
        "memories": [one.model_dump(mode="json") for one in memories],
        "kept": [one.id for one in found.kept],
        "kinds": [one.kind for one in found.kept],
        "scores": [round(score, 9) for score in found.scores],  # the last bits are the machine's
        "evidence": found.evidence,
        "pruned": found.pruned,
    }


def _ranked(query, memories, *, now=NOW, keep=MAX_CANDIDATES, query_embedding=None):
    return prefilter(query, memories, now=now, settings=SETTINGS, keep=keep, query_embedding=query_embedding)


def _six(**fields):
    return [memory(at, **fields) for at in range(6)]


def _with(one, **fields):
    return Memory.model_validate({**one.model_dump(), **fields})


def _time_texts():
    return sorted({one.text for query in datasets.load(SET, "time") for one in query.memories})
