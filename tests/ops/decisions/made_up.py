"""A decision log of calls that never were."""

from datetime import timedelta

from memsift_schemas.decision import Decision, DecisionText, Gap, Sealed, Told, Weighed, Weights, encode
from memsift_schemas.sealing import KeyRing
from tests.samples import NOW, memories

KEYS = "k1:" + "5a" * 32
SECRET = "xyzzy-private"
WEIGHTS = Weights(vector=0.6, recency=0.05, keyword=0.35, half_life_days=90, keep=4)


def weighed(count=6):
    """m0, m1 picked; m2 below min_relevance; m3 beyond top_k; m4 not sent; the last a duplicate of m0."""
    rows = []
    for at in range(count):
        fields = {"similarity": 1.0 - at, "keyword": 0.5, "prefilter": 1.0 - at, "prefilter_place": at + 1}
        if at < 4:
            fields |= {"sent": True, "place": at + 1, "score": 2.0 - at, "prior": 1.0, "model": 1.0 - at}
            fields["relevance"] = 0.1 if at == 2 else 0.9
        rows.append(Weighed(id=f"m{at}", picked=at < 2, **fields))
    rows[-1] = Weighed(id=f"m{count - 1}", duplicate_of="m0")
    return tuple(rows)


def decision(job="job-0001", **fields):
    defaults = {
        "at": NOW,
        "job": job,
        "source": "model",
        "ranker": "local",
        "model": "m",
        "prompt_version": "likelihood-1",
        "top_k": 2,
        "min_relevance": 0.2,
        "deadline_ms": 400,
        "weights": WEIGHTS,
        "fusion_weight": 1.0,
        "timings_ms": {"total": 120.0},
        "memories": weighed(),
    }
    return Decision(**{**defaults, **fields})


def text(**fields):
    defaults = {
        "query": f"{SECRET}: where is the spare key?",
        "now": NOW,
        "turns": ({"role": "user", "text": "We are at the cabin."},),
        "memories": memories(6),
        "reason": "because of the flowerpot",
    }
    return DecisionText(**{**defaults, **fields})


def sealed(job="job-0001", keys=KEYS, **fields):
    """A decision with its text."""
    clear = text(**fields).model_dump_json().encode()
    box = KeyRing.of(keys).seal(clear, direction="decision", job_id=job)
    return decision(job, text=Sealed(**box))


def told(job="job-0001", **fields):
    return Told(at=NOW + timedelta(minutes=1), job=job, **fields)


def write(folder, *lines, name="decisions-a.jsonl"):
    """A log with these lines; bytes stand for what is no line."""
    folder.mkdir(exist_ok=True)
    raw = [line if isinstance(line, bytes) else encode(line) for line in lines]
    (folder / name).write_bytes(b"".join(raw))
    return folder


GAP = Gap(at=NOW, dropped=3)
