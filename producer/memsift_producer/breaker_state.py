"""The breaker's state that all frontends share: one hash on Redis, changed by one script.

The script is atomic, so exactly one process sees itself flip the state, and one probe is out at a time. Time
comes from the caller, who keeps the server's clock. The same round trip tells how long the queue is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from redis.asyncio import Redis

from memsift_schemas.keys import breaker_key, workers_key
from memsift_schemas.settings import ProducerSettings

# Of fewer answers the 99th percentile is nothing but the slowest one.
MIN_ANSWERS_FOR_P99 = 100
# The window slides by a fifth of its length.
SLICES = 5

# KEYS: breaker hash, queue, index of workers (sorted set of hostnames by time).
# ARGV: now ms, failures to open, probe interval ms, slice ms, since when a worker counts as present (s),
#       answers, slow ones, successes, failures before the first success, longest run of failures after it,
#       failures after the last success, token of a probe that ended, how, token wanted, its patience in ms.
# A percentile needs no sorted answers: p99 is over the limit when more than one answer in a hundred is.
SCRIPT = f"""
local now, limit, interval, slice = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local answers, slow, successes = tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local leading, longest, trailing = tonumber(ARGV[9]), tonumber(ARGV[10]), tonumber(ARGV[11])
local ended, how, wanted, patience = ARGV[12], ARGV[13], ARGV[14], tonumber(ARGV[15])
local key, flipped, granted = KEYS[1], '', 0
local was = redis.call('HMGET', key, 'state', 'failures', 'next_probe', 'probe', 'probe_until', 'window')
local open, failures = was[1] == 'open', tonumber(was[2] or 0)
local next_probe, probe, probe_until = tonumber(was[3] or 0), was[4], tonumber(was[5] or 0)
local function ms(value) return string.format('%.0f', value) end

if not open and answers > 0 then
  if successes > 0 then
    longest = math.max(longest, failures + leading, trailing)
    failures = trailing
  else
    failures = failures + leading
    longest = failures
  end
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
  if longest >= limit then
    reason, failures = 'failures', longest
  elseif all >= {MIN_ANSWERS_FOR_P99} and all_slow * 100 > all then
    reason = 'slow'
  end
  if reason then
    open, flipped, next_probe, probe = true, 'opened', now + interval, false
    redis.call('HSET', key, 'state', 'open', 'since', ms(now), 'failures', failures, 'reason', reason,
      'next_probe', ms(next_probe))
    redis.call('HDEL', key, 'window', 'probe', 'probe_until')
  else
    redis.call('HSET', key, 'failures', failures, 'window', cjson.encode(kept))
  end
elseif open and ended ~= '' and ended == probe then
  redis.call('HDEL', key, 'probe', 'probe_until')
  probe = false
  if how == 'ok' then
    open, flipped, failures = false, 'closed', 0
    redis.call('HSET', key, 'state', 'closed', 'since', ms(now), 'failures', 0)
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

local depth, oldest = redis.call('LLEN', KEYS[2]), ''
if depth > 0 then
  -- Inside the body quotes are escaped, so that no text can pass for the header.
  local tail = string.sub(redis.call('LINDEX', KEYS[2], -1) or '', -2000)
  oldest = string.match(tail, ',"sent_at":([%d%.]+)') or ''
end
local reason = redis.call('HGET', key, 'reason') or ''
return {{open and 1 or 0, failures, ms(next_probe), ms(probe and probe_until or 0), flipped, granted, reason,
  depth, oldest, redis.call('ZRANGEBYSCORE', KEYS[3], ARGV[5], '+inf')}}
"""
# A worker writes its card and its place in the index every second; the card lives for five.
WORKER_LIVES_S = 5.0


@dataclass(slots=True)
class Tally:
    """Outcomes since the last report, in the order in which they came, as far as a breaker cares.

    Attributes:
        answers: how many.
        slow: how many of them took longer than the limit for p99.
        successes: how many were answered by the model.
        leading: failures before the first success.
        longest: longest run of failures between two successes.
        trailing: failures after the last success.
    """

    answers: int = 0
    slow: int = 0
    successes: int = 0
    leading: int = 0
    longest: int = 0
    trailing: int = 0

    def add(self, *, failed: bool, slow: bool) -> None:
        """Count one outcome."""
        self.answers += 1
        self.slow += slow
        if not failed:
            self.successes += 1
            self.longest = max(self.longest, self.trailing)
            self.trailing = 0
        elif self.successes:
            self.trailing += 1
        else:
            self.leading += 1

    def run(self, before: int) -> int:
        """Failures in a row up to now, `before` of them before this tally began."""
        return self.trailing if self.successes else before + self.leading


@dataclass(frozen=True, slots=True)
class Reading:
    """What one round trip told.

    Attributes:
        open: whether calls fall back at once.
        failures: failures in a row, over all processes.
        next_probe: unix seconds, from when on a probe may be sent.
        probe_until: unix seconds, until when a probe that is out is waited for; 0 for none.
        flipped: `opened` or `closed` when this very round trip did it, else empty.
        granted: the wanted probe may be sent.
        reason: why it is open: `failures` or `slow`.
        depth: jobs in the queue.
        oldest_sent_at: unix seconds at which the oldest one was sent; None for an empty queue.
        workers: hostnames of those present.
    """

    open: bool = False
    failures: int = 0
    next_probe: float = 0.0
    probe_until: float = 0.0
    flipped: str = ""
    granted: bool = False
    reason: str = ""
    depth: int = 0
    oldest_sent_at: float | None = None
    workers: Sequence[str] = ()


class BreakerState:
    """Reports outcomes and reads the state, in one round trip."""

    def __init__(self, redis: Redis, settings: ProducerSettings) -> None:
        self._script = redis.register_script(SCRIPT)
        self._keys = [breaker_key(settings.queue), settings.queue, workers_key(settings.queue)]
        self._limits = [
            settings.breaker_failures,
            settings.breaker_probe_ms,
            settings.breaker_window_s * 1000 // SLICES,
        ]

    async def exchange(
        self,
        now: float,
        tally: Tally,
        *,
        ended: tuple[str, str] = ("", ""),
        wanted: str = "",
        patience: float = 0.0,
    ) -> Reading:
        """Tell what happened and learn the state.

        Args:
            now: unix seconds on the server's clock.
            tally: outcomes since the last report.
            ended: a probe's token and how it went: `ok`, `failed`, or `void` when it told nothing.
            wanted: the token of a probe that would like to be sent.
            patience: seconds until that probe counts as lost.

        Raises:
            RedisError: nothing is known.
        """
        answer = await self._script(
            self._keys,
            [
                f"{now * 1e3:.0f}",
                *self._limits,
                now - WORKER_LIVES_S,
                tally.answers,
                tally.slow,
                tally.successes,
                tally.leading,
                tally.longest,
                tally.trailing,
                *ended,
                wanted,
                f"{patience * 1e3:.0f}",
            ],
        )
        return _read(answer)


def _read(answer: Any) -> Reading:
    is_open, failures, next_probe, probe_until, flipped, granted, reason, depth, oldest, workers = answer
    return Reading(
        open=bool(is_open),
        failures=int(failures),
        next_probe=float(next_probe) / 1e3,
        probe_until=float(probe_until) / 1e3,
        flipped=flipped.decode(),
        granted=bool(granted),
        reason=reason.decode(),
        depth=int(depth),
        oldest_sent_at=float(oldest) if oldest else None,
        workers=tuple(name.decode() for name in workers),
    )
