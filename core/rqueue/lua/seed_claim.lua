-- seed_claim: move up to n start messages to the taken ones, in scrapy-redis's orders (rule 2).
-- KEYS[1] start key LIST (head first), SET (any) or ZSET (highest score first, ties in reverse byte order)
-- KEYS[2] taken HASH claim id -> node|unix ms|message   KEYS[3] claims counter   KEYS[4] state HASH
-- ARGV[1] now or ''   ARGV[2] node   ARGV[3] n, 1 to 1000   ARGV[4] run
-- Returns {type, id, message, ...}; type is TYPE's answer, none when the key is missing,
-- stale when the crawl is in another run or on the way to it.
local key, n = KEYS[1], tonumber(ARGV[3])
local nf = clock(ARGV[1])
local m = call('HMGET', KEYS[4], 'run', 'flush')
if m[1] ~= ARGV[4] or m[2] then return {'stale'} end
local t = call('TYPE', key)
local kind = t.ok or t
local got
if kind == 'list' then
  got = call('LRANGE', key, 0, n - 1)
  call('LTRIM', key, n, -1)
elseif kind == 'set' then
  got = call('SPOP', key, n)
elseif kind == 'zset' then
  got = call('ZREVRANGE', key, 0, n - 1)
  call('ZREMRANGEBYRANK', key, -n, -1)
else
  return {kind}
end
local out = {kind}
local head = ARGV[2] .. '|' .. string.format('%.0f', nf) .. '|'
for i = 1, #got do
  local id = string.format('%.0f', call('INCR', KEYS[3]))
  call('HSET', KEYS[2], id, head .. got[i])
  out[2 * i], out[2 * i + 1] = id, got[i]
end
return out
