// Generated from the Python code by `make docs`; do not edit.

export const PUSH = String.raw`
local lists, own = {[0] = KEYS[1]}, (#KEYS - 1) / 2
local backlog = redis.call('LLEN', KEYS[1])
local depth, alive, pushed = {[0] = backlog}, {}, {}
local room, fitted = ARGV[1] - backlog, 0
for at = 1, own do
  lists[at], alive[at] = KEYS[2 * at], redis.call('EXISTS', KEYS[2 * at + 1]) == 1
  depth[at] = redis.call('LLEN', lists[at])
  room = room - depth[at]
end
for arg = own + 3, #ARGV, 2 do
  if fitted >= room then break end
  local at = math.abs(ARGV[arg])
  local busy = at > 0 and tonumber(ARGV[arg]) > 0 and depth[at] >= ARGV[at + 2] + backlog
  if busy or not (at == 0 or alive[at]) then at = 0 end
  depth[at] = redis.call('LPUSH', lists[at], ARGV[arg + 1])
  pushed[at], fitted = true, fitted + 1
end
for at in pairs(pushed) do
  if redis.call('PTTL', lists[at]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', lists[at], ARGV[2]) end
end
return {fitted, depth[0], unpack(depth)}
`;

export const BREAKER_SCRIPT = String.raw`
local function waiting(key)
  local depth, expires, oldest = redis.call('LLEN', key), '', ''
  if depth > 0 then
    local tail = string.sub(redis.call('LINDEX', key, -1) or '', -2000)
    expires, oldest = string.match(tail, ',"expires":"([^"]+)","sent_at":([%d%.]+)')
  end
  return {depth, oldest or '', expires or ''}
end

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
  local failed = {}
  for one in string.gmatch((was[8] or '') .. ',' .. sent, '%d+') do
    if tonumber(one) > last then failed[#failed + 1] = one end
  end
  failures = math.min(#failed, limit)
  local at, kept, all, all_slow = math.floor(now / slice), {}, answers, slow
  for _, one in ipairs(cjson.decode(was[6] or '[]')) do
    if one[1] > at - 5 then
      all, all_slow = all + one[2], all_slow + one[3]
      if one[1] == at then
        answers, slow = answers + one[2], slow + one[3]
      else
        kept[#kept + 1] = one
      end
    end
  end
  kept[#kept + 1] = {at, answers, slow}
  local reason
  if failures >= limit then
    reason = 'failures'
  elseif all >= 100 and all_slow * 100 > all then
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

local lists = {}
for at = 3, #KEYS do lists[#lists + 1] = waiting(KEYS[at]) end
local reason = redis.call('HGET', key, 'reason') or ''
return {open and 1 or 0, failures, ms(next_probe), ms(probe and probe_until or 0), flipped, granted, reason,
  ms(last), redis.call('ZRANGEBYSCORE', KEYS[2], ARGV[5], '+inf'), lists}
`;
