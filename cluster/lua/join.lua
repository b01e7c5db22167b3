-- join: enter the list of members.
-- KEYS[1] nodes ZSET member id -> joined, unix ms     KEYS[2] own STRING, JSON with expiry
-- ARGV[1] now or ''  ARGV[2] id  ARGV[3] life of the STRING, ms  ARGV[4] JSON, unique for each process start
-- Returns what list returns, with 'ok', or {'taken', now, born} when the id is another's or lapsed. A call that
-- is made again, because the reply to the first was lost, is answered like the first.
local nodes, own, id = KEYS[1], KEYS[2], ARGV[2]
local now = clock(ARGV[1])
local b = begun(nodes, now)
local got = call('GET', own)
if got ~= ARGV[4] then
  if got or call('ZSCORE', nodes, id) then return {'taken', now[1], b} end
  call('ZADD', nodes, string.format('%.0f', now[1]), id)
elseif not call('ZSCORE', nodes, id) then
  call('ZADD', nodes, string.format('%.0f', now[1]), id)
end
call('SET', own, ARGV[4], 'PX', ARGV[3])
return list('ok', now, nodes, 5)
