-- finish: declare the crawl finished when nothing at all is left (rules 14, 15, standalone form).
-- KEYS[1] state HASH   KEYS[2] start key   KEYS[3] taken HASH   KEYS[4..] every index ZSET
-- ARGV[1] now or ''    ARGV[2] run
-- Returns 1 declared now, 2 it was, 0 something is left, -1 another run, or on the way to it, -2 stopped or paused.
local m = call('HMGET', KEYS[1], 'state', 'run', 'flush')
if m[2] ~= ARGV[2] then return -1 end
if m[1] == 'finished' then return 2 end
if m[3] then return -1 end -- half of it is deleted
if m[1] ~= 'running' then return -2 end
for i = 2, #KEYS, 1000 do
  if call('EXISTS', unpack(KEYS, i, math.min(i + 999, #KEYS))) > 0 then return 0 end
end
local nf = clock(ARGV[1])
call('HSET', KEYS[1], 'state', 'finished', 'finished', nf)
return 1
