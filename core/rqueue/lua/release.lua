-- release: give a slot up with the exact next start (rules 4, 12).
-- KEYS[1] slot HASH   then for each crawl: index ZSET, requests ZSET, delayed ZSET, leased HASH
-- ARGV[1] now or ''  ARGV[2] token  ARGV[3] lease life, ms  ARGV[4] host
-- ARGV[5] next start, ms from now   ARGV[6] throttle  ARGV[7] gap, ms  ARGV[8] hold, ms from now
-- Each index entry becomes the next useful start, or goes when the host has nothing left (settle).
-- Returns {'ok', now} or {'lost', now}.
local slot = KEYS[1]
local nf, nc = clock(ARGV[1])
local m = call('HMGET', slot, 'tok', 'paused')
if m[1] ~= ARGV[2] then return {'lost', nf} end
local ttl, host = tonumber(ARGV[3]), ARGV[4]
local wait, hold = math.max(tonumber(ARGV[5]), 0), math.max(tonumber(ARGV[8]), 0)
call('HSET', slot, 'tok', '', 'exp', 0, 'next', nc + wait, 'wait', wait, 'st', ARGV[6], 'gap', ARGV[7],
  'hold', hold > 0 and nc + hold or 0, 'holdfor', hold)
local start = nc + math.max(wait, hold)
if m[2] == '1' then start = math.max(start, nc + ttl) end
for i = 2, #KEYS, 4 do
  if call('ZCARD', KEYS[i + 1]) > 0 then
    call('ZADD', KEYS[i], start, host)
  else
    local d = call('ZRANGE', KEYS[i + 2], 0, 0, 'WITHSCORES')
    if d[1] then
      call('ZADD', KEYS[i], math.max(start, tonumber(d[2])), host)
    elseif call('HLEN', KEYS[i + 3]) > 0 then
      call('ZADD', KEYS[i], nc + ttl, host) -- someone must see whether they still live
    else
      call('ZREM', KEYS[i], host)
    end
  end
end
return {'ok', nf}
