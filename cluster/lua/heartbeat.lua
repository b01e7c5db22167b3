-- heartbeat: stay a member and see the others.
-- KEYS[1] nodes ZSET member id -> joined, unix ms     KEYS[2] own STRING, JSON with expiry
-- ARGV[1] now or ''  ARGV[2] id  ARGV[3] life of the STRING, ms  ARGV[4] JSON
-- ARGV[5] born, as last returned  ARGV[6] joined, as last returned  ARGV[7..] ids whose JSON the caller has
-- Returns what list returns, with
--   'ok'        the STRING lives on
--   'lapsed'    it had expired, nobody has evicted the member yet: it is back, as old as before
--   'rejoined'  the store forgot the list: the member is in the new one, as old as before
-- or {'evicted', now, born}: others took the id from the list; nothing is written.
local nodes, own, id = KEYS[1], KEYS[2], ARGV[2]
local now, how = clock(ARGV[1]), 'ok'
if begun(nodes, now) ~= ARGV[5] then
  how = 'rejoined'
  call('ZADD', nodes, string.format('%.0f', math.min(tonumber(ARGV[6]), now[1])), id)
  call('SET', own, ARGV[4], 'PX', ARGV[3])
elseif not call('ZSCORE', nodes, id) then
  return {'evicted', now[1], ARGV[5]}
elseif call('PEXPIRE', own, ARGV[3]) == 0 then
  how = 'lapsed'
  call('SET', own, ARGV[4], 'PX', ARGV[3])
end
return list(how, now, nodes, 7)
