-- audit: what many hosts hold and what they count, to compare. Reads only.
-- for each host: KEYS  index ZSET, known SET, requests ZSET, delayed ZSET, leased HASH, dead LIST, meta HASH
--                ARGV  host
-- Returns for each host {waiting, delayed, leased, dead letters, done, dead, seen, lost, forgotten,
-- 1 when indexed, 1 when known, 1 when it has a meta}, or {what the store said} when a key is of a wrong type.
local pcall = redis.pcall
local out = {}
for i = 1, #ARGV do
  local k, host = 7 * (i - 1), ARGV[i]
  local m = pcall('HMGET', KEYS[k + 7], 'done', 'dead', 'seen', 'lost', 'forgotten', 'run')
  local r = {
    pcall('ZCARD', KEYS[k + 3]), pcall('ZCARD', KEYS[k + 4]), pcall('HLEN', KEYS[k + 5]), pcall('LLEN', KEYS[k + 6]),
    0, 0, 0, 0, 0,
    pcall('ZSCORE', KEYS[k + 1], host), pcall('SISMEMBER', KEYS[k + 2], host), 0,
  }
  local err = m.err
  for j = 1, 12 do
    if type(r[j]) == 'table' then err = err or r[j].err end
  end
  if err then
    out[i] = {err}
  else
    for j = 1, 5 do r[j + 4] = tonumber(m[j] or 0) end
    r[10] = r[10] and 1 or 0
    r[12] = m[6] and 1 or 0
    out[i] = r
  end
end
return out
