-- renew: extend a slot lease that has not run out (rule 5).
-- KEYS[1] slot HASH    KEYS[2..] index ZSET, one a crawl
-- ARGV[1] now or ''  ARGV[2] token  ARGV[3] lease life, ms  ARGV[4] host
-- ARGV[5] throttle   ARGV[6] gap between starts, ms         ARGV[7] hold, ms from now
-- An index entry that is due stays: it says that requests came since the last lease.
-- Returns {'ok', now, paused, 1 when an entry was due} or {'lost', now}.
local slot = KEYS[1]
local nf, nc = clock(ARGV[1])
local m = call('HMGET', slot, 'tok', 'exp', 'paused')
if m[1] ~= ARGV[2] or tonumber(m[2]) <= nf then return {'lost', nf} end
local exp, hold = nc + tonumber(ARGV[3]), tonumber(ARGV[7])
call('HSET', slot, 'exp', exp, 'ttl', ARGV[3], 'st', ARGV[5], 'gap', ARGV[6],
  'hold', hold > 0 and nc + hold or 0, 'holdfor', hold)
local ready = 0
for i = 2, #KEYS do
  local s = call('ZSCORE', KEYS[i], ARGV[4])
  if s then
    if tonumber(s) > nf then call('ZADD', KEYS[i], exp, ARGV[4]) else ready = 1 end
  end
end
return {'ok', nf, m[3] or '', ready}
