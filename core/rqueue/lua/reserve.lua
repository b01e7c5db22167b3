-- reserve: raise the stored upper bound of the next start (rule 4).
-- KEYS[1] slot HASH
-- ARGV[1] now or ''  ARGV[2] token  ARGV[3] next start, ms from now
-- ARGV[4] throttle   ARGV[5] gap between starts, ms   ARGV[6] hold, ms from now
-- Returns {'ok', now} or {'lost', now}.
local slot = KEYS[1]
local nf, nc = clock(ARGV[1])
local m = call('HMGET', slot, 'tok', 'exp', 'next', 'wait')
if m[1] ~= ARGV[2] or tonumber(m[2]) <= nf then return {'lost', nf} end
local next = math.min(tonumber(m[3] or 0), nc + tonumber(m[4] or 0))
next = math.max(next, nc + tonumber(ARGV[3]))
local hold = tonumber(ARGV[6])
call('HSET', slot, 'next', next, 'wait', math.max(next - nc, 0), 'st', ARGV[4], 'gap', ARGV[5],
  'hold', hold > 0 and nc + hold or 0, 'holdfor', hold)
return {'ok', nf}
