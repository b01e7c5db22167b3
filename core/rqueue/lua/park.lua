-- park: put a host aside (rule 23). The first reason stays.
-- KEYS[1] state HASH   KEYS[2] stats HASH   KEYS[3] index ZSET
-- KEYS[4] requests ZSET   KEYS[5] delayed ZSET
-- ARGV[1] now or ''   ARGV[2] host   ARGV[3] run   ARGV[4] reason
-- Returns 1 parked, 0 it was, -1 another run.
local nf = clock(ARGV[1])
if call('HGET', KEYS[1], 'run') ~= ARGV[3] then return -1 end
if call('HSETNX', KEYS[1], 'parked:' .. ARGV[2], string.format('%.0f', nf) .. ' ' .. ARGV[4]) == 0 then return 0 end
call('HINCRBY', KEYS[2], 'parked/hosts', 1)
if call('ZCARD', KEYS[4]) + call('ZCARD', KEYS[5]) > 0 then call('ZADD', KEYS[3], 'LT', nf, ARGV[2]) end
return 1
