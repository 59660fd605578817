"""The same prompt twice gives the same answer, without asking the model again.

At temperature 0 an engine's numbers still depend on what else is in the batch and on how much of a prompt
came from the cache: on SGLang a token's log-probability moves by up to 0.2, enough to swap two memories that
are close. A user who asks again must see the same ranking, so answers are remembered for a while.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from memsift_schemas.clock import Clock
from memsift_workers.runtimes.base import Answer, Call, Runtime
from memsift_workers.runtimes.wrapper import Wrapper

# A question about 20 memories is 20 answers of 0.3 kB: 1,000 questions, 6 MB.
MAX_ANSWERS = 20_000
# As long as somebody may press "again"; then a server that changed its model meanwhile is asked anew.
LIFETIME_S = 600.0


# What a call asks, by a keyed hash, and Python's hash of what stands before it, see `Remembering._keys`.
Key = tuple[bytes, int]


class Remembering(Wrapper):
    """Any runtime, with a memory for its answers.

    Keys are keyed hashes, values are numbers (and a scorecard's JSON); no prompt is kept. An answer from
    memory counts its whole prompt as cached. What another model has answered is never taken for this one's.
    """

    def __init__(self, inner: Runtime, clock: Clock) -> None:
        super().__init__(inner)
        self._clock = clock
        self._secret = secrets.token_bytes(16)
        self._answers: OrderedDict[Key, tuple[float, Answer]] = OrderedDict()

    async def run(self, calls: Sequence[Call], *, timeout: float) -> list[Answer]:
        """See `Runtime.run`; only calls that are not remembered reach the model, each once."""
        keys = self._keys(calls)
        known: dict[Key, Answer] = {}
        new: dict[Key, Call] = {}
        oldest = self._clock.monotonic() - LIFETIME_S
        for key, call in zip(keys, calls, strict=True):
            if key in new or key in known:
                continue
            if (answer := self._recall(key, oldest)) is None:
                new[key] = call
            else:
                known[key] = answer
        if new:
            answers = await self._inner.run(list(new.values()), timeout=timeout)
            if len(answers) != len(new):
                return answers  # not one each: the ranker refuses it
            fresh = dict(zip(new, answers, strict=True))
            self._remember(fresh)
            known |= fresh
        return [known[key] for key in keys]

    async def close(self) -> None:
        """See `Runtime.close`."""
        self._answers.clear()
        await super().close()

    def _keys(self, calls: Sequence[Call]) -> list[Key]:
        """One per call. The calls of a job ask the same of different prefixes: what they ask is hashed once.

        Within one user's question Python's own hash (SipHash, keyed anew in each process) tells 20 prefixes
        apart: two of them are taken for one in 1e-17 of all questions.
        """
        asked: dict[tuple[str, str, int], bytes] = {}
        keys = []
        for call in calls:
            same = call.namespace, call.suffix, id(call.wish)
            if (digest := asked.get(same)) is None:
                digest = asked[same] = self._digest(call)
            keys.append((digest, hash(call.prefix)))
        return keys

    def _digest(self, call: Call) -> bytes:
        # With their lengths before them, no two different calls give one text.
        pieces = (self.model, call.namespace, call.suffix)
        text = f"{' '.join(str(len(piece)) for piece in pieces)}/{''.join(pieces)}{call.wish!r}"
        return hashlib.blake2b(text.encode(), key=self._secret, digest_size=16).digest()

    def _recall(self, key: Key, oldest: float) -> Answer | None:
        found = self._answers.get(key)
        if found is None or found[0] < oldest:
            return None
        self._answers.move_to_end(key)
        return replace(found[1], cached_tokens=found[1].prompt_tokens, output_tokens=0)

    def _remember(self, fresh: Mapping[Key, Answer]) -> None:
        now = self._clock.monotonic()
        for key, answer in fresh.items():
            if key in self._answers:  # too old
                self._answers.move_to_end(key)
            self._answers[key] = (now, answer)
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)
