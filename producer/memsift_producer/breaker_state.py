"""The breaker's state that all frontends share: one hash on Redis, changed by one script.

The script is atomic, so exactly one process sees itself flip the state, and one probe is out at a time. Time
comes from the caller, who keeps the server's clock. The same round trip tells what waits in which list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from redis.asyncio import Redis

from memsift_schemas import waiting
from memsift_schemas.keys import breaker_key, workers_key
from memsift_schemas.waiting import WORKER_LIVES_S, Waiting

if TYPE_CHECKING:
    from memsift_schemas.settings import ProducerSettings

# Of fewer answers the 99th percentile is nothing but the slowest one.
MIN_ANSWERS_FOR_P99 = 100
# The window slides by a fifth of its length.
SLICES = 5

# A report that was on its way for longer comes from before a stall of Redis, and is about the stall: a server
# that was stopped runs what its sockets hold when it wakes.
STALE_S = 1.0

# KEYS: breaker hash, index of workers (sorted set of hostnames by time), the queue, own lists.
# ARGV: now ms, failures to open, probe interval ms, slice ms, since when a worker counts as present (s),
#       age in ms from which a report is stale, answers, slow ones, when the last one came (ms), when the
#       calls that failed were sent (ms, by commas), token of a probe that ended, how, token wanted, its
#       patience in ms.
# Failures count that were sent after the last answer: in whatever order reports come, the result is the same.
# A percentile needs no sorted answers: p99 is over the limit when more than one answer in a hundred is.
SCRIPT = f"""{waiting.LUA}
local now, limit, interval, slice = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local answers, slow, answered = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[9])
local sent, ended, how, wanted, patience = ARGV[10], ARGV[11], ARGV[12], ARGV[13], tonumber(ARGV[14])
local key, flipped, granted = KEYS[1], '', 0
local time = redis.call('TIME')
if time[1] * 1000 + time[2] / 1000 - now > tonumber(ARGV[6]) then
  answers, sent, ended, wanted = 0, '', '', ''
end
local was = redis.call('HMGET', key, 'state', 'failures', 'next_probe', 'probe', 'probe_until', 'window',
  'answered', 'sent')
local open, failures = was[1] == 'open', tonumber(was[2] or 0)
local next_probe, probe, probe_until = tonumber(was[3] or 0), was[4], tonumber(was[5] or 0)
local last = tonumber(was[7] or 0)
local function ms(value) return string.format('%.0f', value) end

if not open and (answers > 0 or sent ~= '') then
  if answers > 0 then last = math.max(last, answered) end
  local failed = {{}}
  for one in string.gmatch((was[8] or '') .. ',' .. sent, '%d+') do
    if tonumber(one) > last then failed[#failed + 1] = one end
  end
  failures = math.min(#failed, limit)
  local at, kept, all, all_slow = math.floor(now / slice), {{}}, answers, slow
  for _, one in ipairs(cjson.decode(was[6] or '[]')) do
    if one[1] > at - {SLICES} then
      all, all_slow = all + one[2], all_slow + one[3]
      if one[1] == at then
        answers, slow = answers + one[2], slow + one[3]
      else
        kept[#kept + 1] = one
      end
    end
  end
  kept[#kept + 1] = {{at, answers, slow}}
  local reason
  if failures >= limit then
    reason = 'failures'
  elseif all >= {MIN_ANSWERS_FOR_P99} and all_slow * 100 > all then
    reason = 'slow'
  end
  if reason then
    open, flipped, next_probe, probe = true, 'opened', now + interval, false
    redis.call('HSET', key, 'state', 'open', 'since', ms(now), 'failures', failures, 'reason', reason,
      'next_probe', ms(next_probe))
    redis.call('HINCRBY', key, 'opened', 1)
    redis.call('HDEL', key, 'window', 'probe', 'probe_until', 'sent')
  else
    redis.call('HSET', key, 'failures', failures, 'window', cjson.encode(kept), 'answered', ms(last),
      'sent', table.concat(failed, ',', #failed - failures + 1))
  end
elseif open and ended ~= '' and ended == probe then
  redis.call('HDEL', key, 'probe', 'probe_until')
  probe = false
  if how == 'ok' then
    open, flipped, failures, last = false, 'closed', 0, now
    redis.call('HSET', key, 'state', 'closed', 'since', ms(now), 'failures', 0, 'answered', ms(now))
    redis.call('HDEL', key, 'reason', 'next_probe', 'window')
  elseif how == 'failed' then
    next_probe = now + interval
    redis.call('HSET', key, 'next_probe', ms(next_probe))
  end
end

if open and wanted ~= '' and now >= next_probe and (not probe or now >= probe_until) then
  granted, probe, probe_until = 1, wanted, now + patience
  redis.call('HSET', key, 'probe', wanted, 'probe_until', ms(probe_until))
end

local lists = {{}}
for at = 3, #KEYS do lists[#lists + 1] = waiting(KEYS[at]) end
local reason = redis.call('HGET', key, 'reason') or ''
return {{open and 1 or 0, failures, ms(next_probe), ms(probe and probe_until or 0), flipped, granted, reason,
  ms(last), redis.call('ZRANGEBYSCORE', KEYS[2], ARGV[5], '+inf'), lists}}
"""


@dataclass(slots=True)
class Tally:
    """Outcomes since the last report, as far as a breaker cares.

    Attributes:
        answers: how many calls the model answered.
        slow: how many of them took longer than the limit for p99.
        answered_at: unix seconds at which the last of them came; 0 for none.
        failed: unix seconds at which each call that failed was sent, of those sent after that.
    """

    answers: int = 0
    slow: int = 0
    answered_at: float = 0.0
    failed: list[float] = field(default_factory=list)

    def answered(self, now: float, *, slow: bool) -> None:
        """The model answered a call."""
        self.answers += 1
        self.slow += slow
        self.answered_at = now
        self.failed.clear()

    def run(self, before: int) -> int:
        """Failures since the last answer, `before` of them before this tally began."""
        return len(self.failed) + (0 if self.answers else before)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one round trip told.

    Attributes:
        open: whether calls fall back at once.
        failures: failed calls of those sent since the last answer, over all processes; at most the limit.
        next_probe: unix seconds, from when on a probe may be sent.
        probe_until: unix seconds, until when a probe that is out is waited for; 0 for none.
        flipped: `opened` or `closed` when this very round trip did it, else empty.
        granted: the wanted probe may be sent.
        reason: why it is open: `failures` or `slow`.
        answered_at: unix seconds at which the model last answered anybody.
        workers: hostnames of those present.
        queue: what waits in the queue.
        own: what waits in the own lists that were asked about, by their keys.
    """

    open: bool = False
    failures: int = 0
    next_probe: float = 0.0
    probe_until: float = 0.0
    flipped: str = ""
    granted: bool = False
    reason: str = ""
    answered_at: float = 0.0
    workers: Sequence[str] = ()
    queue: Waiting = field(default_factory=Waiting)
    own: Mapping[str, Waiting] = field(default_factory=dict)


class BreakerState:
    """Reports outcomes and reads the state, in one round trip.

    Attributes:
        stale_s: reports that reach Redis later than this, by its own clock, are dropped there.
    """

    def __init__(self, redis: Redis, settings: ProducerSettings) -> None:
        self._script = redis.register_script(SCRIPT)
        self._keys = [breaker_key(settings.queue), workers_key(settings.queue), settings.queue]
        self._limits = [
            settings.breaker_failures,
            settings.breaker_probe_ms,
            settings.breaker_window_s * 1000 // SLICES,
        ]
        self.stale_s = STALE_S

    async def exchange(
        self,
        now: float,
        tally: Tally,
        *,
        ended: tuple[str, str] = ("", ""),
        wanted: str = "",
        patience: float = 0.0,
        own: Sequence[str] = (),
    ) -> Reading:
        """Tell what happened and learn the state.

        Args:
            now: unix seconds on the server's clock.
            tally: outcomes since the last report.
            ended: a probe's token and how it went: `ok`, `failed`, or `void` when it told nothing.
            wanted: the token of a probe that would like to be sent.
            patience: seconds until that probe counts as lost.
            own: keys of own lists to look at, beside the queue.

        Raises:
            RedisError: nothing is known.
        """
        limit = self._limits[0]
        answer = await self._script(
            [*self._keys, *own],
            [
                f"{now * 1e3:.0f}",
                *self._limits,
                now - WORKER_LIVES_S,
                f"{self.stale_s * 1e3:.0f}",
                tally.answers,
                tally.slow,
                f"{tally.answered_at * 1e3:.0f}",
                ",".join(f"{sent * 1e3:.0f}" for sent in sorted(tally.failed)[-limit:]),
                *ended,
                wanted,
                f"{patience * 1e3:.0f}",
            ],
        )
        return _read(answer, own)


def _read(answer: Any, own: Sequence[str]) -> Reading:
    (
        is_open,
        failures,
        next_probe,
        probe_until,
        flipped,
        granted,
        reason,
        answered,
        workers,
        lists,
    ) = answer
    queue, *others = map(waiting.read, lists)
    return Reading(
        open=bool(is_open),
        failures=int(failures),
        next_probe=float(next_probe) / 1e3,
        probe_until=float(probe_until) / 1e3,
        flipped=flipped.decode(),
        granted=bool(granted),
        reason=reason.decode(),
        answered_at=float(answered) / 1e3,
        workers=tuple(name.decode() for name in workers),
        queue=queue,
        own=dict(zip(own, others, strict=True)),
    )
