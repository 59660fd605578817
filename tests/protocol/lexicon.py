"""The producer's word lists, patterns, numbers and scripts as TypeScript: the client there has the same."""

import json
import re
from textwrap import indent

from memsift_producer import admission, breaker, breaker_state, outbox, question
from memsift_producer.prefilter import duplicates, embeddings, kinds, particulars, signals
from memsift_schemas import Cause, Kind, evidence, job, keys, memory, redis_link, text, words
from memsift_schemas.settings import ProducerSettings
from memsift_schemas.wire import WIRE_VERSION

HEAD = "// Generated from the Python code by `make docs`; do not edit.\n"
LINE = 110
# Python's classes know Unicode, JavaScript's do not; and its white space has U+FEFF, which Python's has not.
_WORD = r"\p{L}\p{N}_"
_ESCAPES = {
    "d": r"\p{Nd}",
    "w": f"[{_WORD}]",
    "s": r"[^\S\uFEFF]",
    "b": f"(?:(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}]))",
    "n": r"\n",
    " ": " ",
    '"': '"',
}
_KEPT = frozenset(".()[]{}*+?|^$\\/")


def lexicon():
    """What the prefilter knows of words."""
    return _module(
        {
            "STOPWORDS": sorted(words.STOPWORDS),
            "BASE_FORMS": dict(sorted(words._BASE_FORM.items())),
            "FILLERS": sorted(duplicates._FILLERS),
            "NEGATIONS": sorted(particulars._NEGATIONS),
            "INSISTED": sorted(particulars._INSISTED),
            "NO_NAMES": sorted(particulars._NO_NAMES),
            "PATTERNS": {
                "sentenceEnd": javascript(text._SENTENCE_END),
                "date": javascript(kinds._DATE),
                "chineseDate": javascript(kinds._CHINESE_DATE),
                "preference": javascript(kinds._PREFERENCE),
                "chinesePreference": javascript(kinds._CHINESE_PREFERENCE),
                "time": javascript(kinds._TIME),
                "chineseTime": javascript(kinds._CHINESE_TIME),
                "chineseFillers": javascript(duplicates._CHINESE_FILLERS),
                "negation": javascript(duplicates._NEGATION),
                "chineseParticulars": javascript(particulars._CHINESE),
            },
        }
    )


def constants():
    """Limits, numbers and names that producers share."""
    failures = {"FAILURES": breaker.FAILURES, "IMPATIENCE": breaker.IMPATIENCE}
    return _module(
        {
            "WIRE_VERSION": WIRE_VERSION,
            "MAX_CANDIDATES": job.MAX_CANDIDATES,
            "MAX_TURNS": job.MAX_TURNS,
            "MAX_ACTIVITY": job.MAX_ACTIVITY,
            "MAX_JOB_BYTES": job.MAX_JOB_BYTES,
            "MAX_MEMORY_CHARS": memory.MAX_MEMORY_CHARS,
            "MAX_ID_CHARS": memory.MAX_ID_CHARS,
            "MAX_DEADLINE_MS": question.MAX_DEADLINE_S * 1e3,
            "ANONYMOUS": job.ANONYMOUS,
            "DEFAULT_SESSION": job.DEFAULT_SESSION,
            "KINDS": [*sorted(Kind, key=lambda kind: kinds._ORDER[kind])],
            "CAUSES": [*Cause],
            **{name: sorted(causes) for name, causes in failures.items()},
            "QUEUE_TTL_MS": keys.QUEUE_TTL_S * 1e3,
            "BLOCK_S": redis_link.BLOCK_S,
            "SOCKET_TIMEOUT_MS": redis_link.SOCKET_TIMEOUT_S * 1e3,
            "CONNECT_TIMEOUT_MS": redis_link.CONNECT_TIMEOUT_S * 1e3,
            "MEASURE_EVERY_MS": redis_link.MEASURE_EVERY_S * 1e3,
            "PREFILTER": {
                "k1": signals._K1,
                "b": signals._B,
                "decimals": signals._DECIMALS,
                "leastSpread": signals._LEAST_SPREAD,
                "leastCosine": embeddings.LEAST_COSINE,
                "leastOverlap": duplicates.LEAST_OVERLAP,
                "leastRotated": duplicates._LEAST_ROTATED,
                "coverageWeight": evidence.COVERAGE_WEIGHT,
            },
            "ADMISSION": {
                "freshMs": admission.FRESH_S * 1e3,
                "expiredMs": admission.EXPIRED_S * 1e3,
                "smoothing": admission.SMOOTHING,
                "batchesBehind": admission.BATCHES_BEHIND,
            },
            "BREAKER": {
                "unknownAnswerMs": breaker.UNKNOWN_ANSWER_S * 1e3,
                "recent": breaker.RECENT,
                "claimWaitMs": breaker.CLAIM_WAIT_S * 1e3,
                "probeGraceMs": breaker.PROBE_GRACE_S * 1e3,
                "slices": breaker_state.SLICES,
                "staleMs": breaker_state.STALE_S * 1e3,
                "workerLivesS": breaker_state.WORKER_LIVES_S,
            },
            "NUMBERS": dict(_numbers()),
        }
    )


def scripts():
    """The scripts that every producer runs on Redis."""
    return HEAD + "".join(
        f"\nexport const {name} = String.raw`\n{script.strip()}\n`;\n"
        for name, script in (("PUSH", outbox.PUSH), ("BREAKER_SCRIPT", breaker_state.SCRIPT))
    )


def javascript(pattern):
    """The source of a Python pattern for a JavaScript `RegExp` with the flag `u`."""
    out, source, in_class, verbose = [], iter(pattern.pattern), False, pattern.flags & re.VERBOSE
    for char in source:
        if char == "\\":
            escaped = next(source)
            out.append(_escape(escaped, in_class=in_class))
            continue
        if in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif verbose and char.isspace():
            continue
        elif verbose and char == "#":
            raise ValueError("comments in patterns are not translated")
        out.append("\\/" if char == "/" else char)
    return "".join(out)


def _escape(char, *, in_class):
    if char in _KEPT or (char == "-" and in_class):
        return f"\\{char}"
    if char not in _ESCAPES or (char == "b" and in_class):
        raise ValueError(f"no translation of \\{char}")
    found = _ESCAPES[char]
    return found[1:-1] if in_class and char == "w" else found


# What the Python client does alone.
_PYTHONS_OWN = ("decision_log", "feedback_")


def _numbers():
    """The producer's settings that are numbers, with what each may be."""
    for name, field in ProducerSettings.model_fields.items():
        if field.annotation not in (int, float) or name.startswith(_PYTHONS_OWN):
            continue
        bounds = {type(rule).__name__: getattr(rule, type(rule).__name__.lower()) for rule in field.metadata}
        words_of_name = name.split("_")
        camel = words_of_name[0] + "".join(word.title() for word in words_of_name[1:])
        yield (
            camel,
            {
                "variable": f"MEMSIFT_{name.upper()}",
                "default": field.default,
                "whole": field.annotation is int,
                "least": bounds.get("Ge", bounds.get("Gt")),
                "above": "Gt" in bounds,
                "most": bounds.get("Le"),
            },
        )


def _module(values):
    return HEAD + "".join(
        f"\nexport const {name} = {_literal(value)} as const;\n" for name, value in values.items()
    )


def _literal(value):
    flat = json.dumps(value, ensure_ascii=False)
    if len(flat) <= LINE or isinstance(value, str):
        return flat
    if isinstance(value, dict):
        rows = (f"{json.dumps(name)}: {_literal(one)},\n" for name, one in value.items())
        return "{\n" + indent("".join(rows), "  ") + "}"
    lines = [""]
    for one in value:
        item = json.dumps(one, ensure_ascii=False) + ", "
        if len(lines[-1]) + len(item) > LINE - 2:
            lines.append("")
        lines[-1] += item
    return "[\n" + "".join(f"  {line.rstrip()}\n" for line in lines) + "]"
