-- lease: due retries become waiting, then up to max waiting requests are leased (rules 4, 11, 12).
-- Of a parked host every retry is due, and the reason is told (rule 23).
-- KEYS[1] slot HASH      KEYS[2] requests ZSET entry -> order   KEYS[3] delayed ZSET entry -> due, unix ms
-- KEYS[4] leased HASH id -> request token .. entry              KEYS[5] index ZSET
-- KEYS[6] run STRING     KEYS[7] state HASH                     KEYS[8] totals HASH
-- ARGV[1] now or ''  ARGV[2] token  ARGV[3] lease life, ms  ARGV[4] host
-- ARGV[5] throttle   ARGV[6] gap between starts, ms         ARGV[7] hold, ms from now
-- ARGV[8] run        ARGV[9] max, >= 1    ARGV[10] first start, ms from now
-- ARGV[11] delay, ms ARGV[12] slack, ms   ARGV[13] queue class p, f or l
-- An entry is sequence (10 hex), times lost (2 hex), priority + 2^31 (8 hex), id (16 bytes), request.
-- Returns {'ok', now, request token, waiting, ms until the first retry or -1, URLs forgotten,
--          reason of a parked host or '', entry...} or
--         {'lost' | 'paused' | 'stale' | 'stopped', now}.
local slot, requests, delayed, leased, index = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local nf, nc = clock(ARGV[1])
local host, max, class = ARGV[4], tonumber(ARGV[9]), ARGV[13]
local m = call('HMGET', slot, 'tok', 'exp', 'paused', 'ln', 'next', 'wait')
if m[1] ~= ARGV[2] or tonumber(m[2]) <= nf then return {'lost', nf} end
if m[3] == '1' then return {'paused', nf} end
if call('GET', KEYS[6]) ~= ARGV[8] then return {'stale', nf} end
local st = call('HMGET', KEYS[7], 'state', 'forgets', 'parked:' .. host)
local state = st[1]
if state ~= 'running' then return {state == 'paused' and 'paused' or 'stopped', nf} end

local parked = st[3] and sub(st[3], string.find(st[3], ' ', 1, true) + 1) or ''
local first, moved = -1, 0
local d = call('ZRANGE', delayed, 0, max, 'WITHSCORES')
for i = 1, #d, 2 do
  if parked == '' and tonumber(d[i + 1]) > nf then
    first = tonumber(d[i + 1]) - nf
    break
  end
  local e, score = d[i], 0
  if class == 'p' then
    score = 2147483648 - tonumber(sub(e, 13, 20), 16)
  elseif class == 'l' then
    score = -tonumber(sub(e, 1, 10), 16)
  end
  call('ZADD', requests, score, e)
  call('ZREM', delayed, e)
  moved = moved + 1
end
if moved > 0 then
  call('HINCRBY', KEYS[8], 'delayed', -moved)
  if first < 0 then
    d = call('ZRANGE', delayed, 0, 0, 'WITHSCORES')
    if d[1] then first = math.max(tonumber(d[2]) - nf, 0) end
  end
end

local exp, hold = nc + tonumber(ARGV[3]), tonumber(ARGV[7])
local popped = call('ZPOPMIN', requests, max)
local n = #popped / 2
local out = {'ok', nf, '', 0, first, tonumber(st[2] or 0), parked}
if n > 0 then
  local ln = tonumber(m[4] or 0) + 1
  local token = ARGV[2] .. '.' .. ln .. '|'
  local h = {}
  for i = 1, #popped, 2 do
    local e = popped[i]
    h[i], h[i + 1] = sub(e, 21, 36), token .. e
    out[#out + 1] = e
  end
  call('HSET', leased, unpack(h))
  local next = math.min(tonumber(m[5] or 0), nc + tonumber(m[6] or 0))
  next = math.max(next, nc + tonumber(ARGV[10]) + n * tonumber(ARGV[11]) + tonumber(ARGV[12]))
  call('HSET', slot, 'exp', exp, 'ttl', ARGV[3], 'st', ARGV[5], 'gap', ARGV[6],
    'hold', hold > 0 and nc + hold or 0, 'holdfor', hold, 'ln', ln, 'next', next, 'wait', math.max(next - nc, 0))
  call('HINCRBY', KEYS[8], 'leased', n)
  out[3] = token
  out[4] = call('ZCARD', requests)
else
  call('HSET', slot, 'exp', exp, 'ttl', ARGV[3], 'st', ARGV[5], 'gap', ARGV[6],
    'hold', hold > 0 and nc + hold or 0, 'holdfor', hold)
end
if n > 0 or first >= 0 or call('HLEN', leased) > 0 then
  call('ZADD', index, exp, host)
else
  call('ZREM', index, host)
end
return out
