-- open: create a crawl or come back to it (rule 14).
-- KEYS[1] spec STRING   KEYS[2] state HASH   KEYS[3] stats HASH   KEYS[4] totals HASH
-- KEYS[5] the system's crawls ZSET name -> created, unix ms   KEYS[6..] every run STRING
-- ARGV[1] now or ''   ARGV[2] name   ARGV[3] spec, JSON
-- A finished crawl that was never closed goes on in its opening: its end is to be done again.
-- Returns {'ok', run, openings, scheduled} or
--         {'flush', run}: flush first, then ask again.
local nf = clock(ARGV[1])
local m = call('HMGET', KEYS[2], 'state', 'run', 'flush', 'kept', 'openings')
local state, run, openings = m[1], m[2], tonumber(m[5] or 0)
if m[3] then return {'flush', run or ''} end
if state == 'finished' and not m[4] then
  state = 'stopped'
  call('HDEL', KEYS[2], 'finished')
end
if not state then -- the run is a time, so that a store that forgot gives none twice
  run = string.format('%.0f', nf)
  call('ZADD', KEYS[5], nf, ARGV[2])
  for i = 6, #KEYS do call('SET', KEYS[i], run) end
  call('DEL', KEYS[4])
end
if state == 'finished' or not state then
  call('DEL', KEYS[3]) -- a new opening counts anew
  openings = openings + 1
  call('HSET', KEYS[2], 'state', 'running', 'run', run, 'openings', openings, 'started', nf)
  call('HDEL', KEYS[2], 'kept', 'finished')
elseif state == 'stopped' or state == 'paused' then
  call('HSET', KEYS[2], 'state', 'running')
end
call('SET', KEYS[1], ARGV[3])
local t = call('HMGET', KEYS[4], 'seen', 'done', 'dead')
local left = tonumber(t[1] or 0) - tonumber(t[2] or 0) - tonumber(t[3] or 0)
return {'ok', run, openings, left}
