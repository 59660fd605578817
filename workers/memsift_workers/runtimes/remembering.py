"""The same prompt twice gives the same answer, without asking the model again.

At temperature 0 an engine's numbers still depend on what else is in the batch and on how much of a prompt
came from the cache: on SGLang a token's log-probability moves by up to 0.2, enough to swap two memories that
are close. A user who asks again must see the same ranking, so answers are remembered for a while.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from memsift_schemas.clock import Clock
from memsift_workers.runtimes.base import Answer, Call, Likelihood, Runtime
from memsift_workers.runtimes.wrapper import Wrapper

# A question about 20 memories is 20 answers of 0.3 kB: 1,000 questions, 6 MB.
MAX_ANSWERS = 20_000
# As long as somebody may press "again"; then a server that changed its model meanwhile is asked anew.
LIFETIME_S = 600.0


class Remembering(Wrapper):
    """Any runtime, with a memory for its answers.

    Keys are keyed hashes, values are numbers (and a scorecard's JSON); no prompt is kept. An answer from
    memory counts its whole prompt as cached. What another model has answered is never taken for this one's.
    """

    def __init__(self, inner: Runtime, clock: Clock) -> None:
        super().__init__(inner)
        self._clock = clock
        self._secret = secrets.token_bytes(16)
        self._answers: OrderedDict[bytes, tuple[float, Answer]] = OrderedDict()

    async def run(self, calls: Sequence[Call], *, timeout: float) -> list[Answer]:
        """See `Runtime.run`; only calls that are not remembered reach the model, each once."""
        keys = [self._key(call) for call in calls]
        known = {key: answer for key in set(keys) if (answer := self._recall(key)) is not None}
        new = {key: call for key, call in zip(keys, calls, strict=True) if key not in known}
        answers = await self._inner.run(list(new.values()), timeout=timeout) if new else []
        if len(answers) != len(new):
            return answers  # not one each: the ranker refuses it
        for key, answer in zip(new, answers, strict=True):
            self._remember(key, answer)
            known[key] = answer
        return [known[key] for key in keys]

    async def close(self) -> None:
        """See `Runtime.close`."""
        self._answers.clear()
        await super().close()

    def _key(self, call: Call) -> bytes:
        # With their lengths before them, no two different calls give one text.
        pieces = (self.model, call.namespace, *call.prefix, call.suffix)
        lengths = "".join(f"{len(piece)} " for piece in pieces)
        # A dataclass's repr takes as long as all the rest, and most wishes are this one.
        wish = "" if type(call.wish) is Likelihood else repr(call.wish)
        text = f"{lengths}/{''.join(pieces)}{wish}"
        return hashlib.blake2b(text.encode(), key=self._secret, digest_size=16).digest()

    def _recall(self, key: bytes) -> Answer | None:
        found = self._answers.get(key)
        if found is None or self._clock.monotonic() - found[0] > LIFETIME_S:
            return None
        self._answers.move_to_end(key)
        return replace(found[1], cached_tokens=found[1].prompt_tokens, output_tokens=0)

    def _remember(self, key: bytes, answer: Answer) -> None:
        self._answers[key] = (self._clock.monotonic(), answer)
        self._answers.move_to_end(key)
        while len(self._answers) > MAX_ANSWERS:
            self._answers.popitem(last=False)
