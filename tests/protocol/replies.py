"""Vectors of what comes back: what a producer makes of each item of its reply list."""

from memsift_producer.answering import _settle
from memsift_producer.fallback import Fallback
from memsift_producer.prefilter import Prefiltered
from memsift_producer.preparation import Prepared
from memsift_schemas import InvalidInput, Ranked, Refusal, RerankResult, Source, UnknownVersion, wire
from memsift_schemas.result import Cause

JOB_ID = "6f1e0c5ad1b84b6f9d2c7d8f6a3b1e01"
FALLBACK = RerankResult(
    job_id=JOB_ID,
    ranking=tuple(Ranked(id=one, score=score) for one, score in (("a", 1.0), ("b", 0.5), ("c", -1.5))),
    source=Source.PREFILTER,
    selected=("a", "b"),
    pruned=("d",),
    timings_ms={"prefilter": 0.3},
)


def _ranking(*places, **fields):
    ranked = [{"id": id_, "score": score, **more} for id_, score, more in places]
    given = {"job_id": JOB_ID, "ranking": ranked, "source": "model", **fields}
    return wire.encode_reply(RerankResult.model_validate(given))


USUAL = (("c", 2.0, {}), ("a", 1.0, {}), ("b", 0.25, {}))
KNOWN = tuple(
    (id_, score, {"evidence": score, "relevance": relevance})
    for (id_, score, _), relevance in zip(USUAL, (0.6, 0.05, 0.3), strict=True)
)
RAW = {
    "a usual ranking": _ranking(*USUAL, ranker="local", model="m", timings_ms={"rank": 3.5, "queue": 0.5}),
    "a ranking with relevances": _ranking(*KNOWN, selected=("c", "b")),
    "a ranking that knows nothing relevant": _ranking(
        *((id_, score, {"relevance": 0.01}) for id_, score, _ in USUAL), selected=()
    ),
    "a ranking with all its numbers": _ranking(
        *USUAL,
        reason="因为 c",
        prompt_version="listwise-96134b43",
        fusion={"weight": 0.5, "prior": {"c": 1.0, "a": 0.5}, "model": {"c": 2.0, "a": 1.0}},
        prompt_tokens=900,
        cached_tokens=800,
        output_tokens=3,
        cost_usd=0.01,
        deck={
            "turn": 2,
            "memories": 3,
            "stale": 0,
            "tokens": 80,
            "stale_tokens": 0,
            "expected_tokens": 70,
            "miss": "evicted",
        },
    ),
    **{f"refused: {cause}": wire.encode_reply(Refusal(job_id=JOB_ID, cause=cause)) for cause in Cause},
    "a candidate is missing": _ranking(*USUAL[1:]),
    "a candidate stands twice": _ranking(*USUAL, USUAL[0]),
    "a candidate twice, another missing": _ranking(*USUAL[:2], USUAL[0]),
    "a stranger among them": _ranking(*USUAL[:2], ("z", 0.0, {})),
    "no place at all": _ranking(),
    "without a version": _ranking(*USUAL).replace(b'"v":1,', b""),
    "with fields of the future": _ranking(*USUAL).replace(b'"v":1,', b'"v":1,"new":{"a":[1]},'),
    "version 2": _ranking(*USUAL).replace(b'"v":1', b'"v":2'),
    "a version in words": _ranking(*USUAL).replace(b'"v":1', b'"v":"1"'),
    "an unknown cause": b'{"v":1,"refusal":{"job_id":"%b","cause":"bad_mood"}}' % JOB_ID.encode(),
    "an unknown source": _ranking(*USUAL).replace(b'"model"', b'"oracle"'),
    "a score that is none": _ranking(*USUAL).replace(b"0.25", b'"high"'),
    "a score that is null": _ranking(*USUAL).replace(b"0.25", b"null"),
    "a relevance over 1": _ranking(*KNOWN).replace(b"0.05", b"1.05"),
    "a ranking that is no list": b'{"v":1,"result":{"job_id":"%b","ranking":{},"source":"model"}}'
    % JOB_ID.encode(),
    "tokens below 0": _ranking(*USUAL, prompt_tokens=1).replace(b'"prompt_tokens":1', b'"prompt_tokens":-1'),
    "a fusion of no numbers": _ranking(
        *USUAL, fusion={"weight": 0.5, "prior": {"c": 1.0}, "model": {"c": 2.0}}
    ).replace(b"2.0}}", b'"much"}}'),
    "no job id": _ranking(*USUAL).replace(b'"job_id"', b'"job"'),
    "neither result nor refusal": b'{"v":1}',
    "an empty object": b"{}",
    "a list": b"[]",
    "no JSON": b"nonsense",
    "cut off": _ranking(*USUAL)[:-9],
    "nothing": b"",
}


def replies():
    """Each raw item, and what becomes of a call that waits for it."""
    return {
        "job_id": JOB_ID,
        "candidates": [place.id for place in FALLBACK.ranking],
        "top_k": 2,
        "min_relevance": 0.2,
        "fallback": FALLBACK.model_dump(mode="json"),
        "replies": [{"name": name, "raw": raw.decode(), **outcome(raw)} for name, raw in sorted(RAW.items())],
    }


def outcome(raw):
    """`result` with what the call returns; `unreadable`: it is dropped, and the call goes on waiting."""
    try:
        reply = wire.decode_reply(raw)
    except UnknownVersion:
        return {"unreadable": "unknown_version"}
    except InvalidInput:
        return {"unreadable": "invalid"}
    prepared = Prepared(
        None,
        b"",
        Fallback(lambda: FALLBACK),
        {},
        top_k=2,
        min_relevance=0.2,
        time_left=1.0,
        found=Prefiltered((), (), (), FALLBACK.pruned),
        timings_ms=FALLBACK.timings_ms,
    )
    return {
        "result": _settle(prepared, reply, {place.id for place in FALLBACK.ranking}).model_dump(mode="json")
    }
