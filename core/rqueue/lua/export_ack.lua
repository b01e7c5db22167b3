-- export_ack: items are safe in a file up to an offset: drop them and remember it, in one step.
-- KEYS[1] export LIST   KEYS[2] positions HASH file -> offset in bytes   KEYS[3] state HASH
-- KEYS[4] lock STRING owner
-- ARGV[1] items   ARGV[2] file   ARGV[3] offset   ARGV[4] owner   ARGV[5] life of the lock, ms
-- Returns the number of items left, or -1 when another process writes them now: nothing is dropped.
-- Of a deleted crawl that left none, nothing is remembered.
if call('EXISTS', KEYS[1], KEYS[3]) == 0 then return 0 end
local holder = call('GET', KEYS[4])
if holder and holder ~= ARGV[4] then return -1 end
if not holder and tonumber(ARGV[1]) > 0 then return -1 end -- it ran out: somebody may have written them meanwhile
call('LTRIM', KEYS[1], ARGV[1], -1)
call('HSET', KEYS[2], ARGV[2], ARGV[3])
call('SET', KEYS[4], ARGV[4], 'PX', ARGV[5])
return call('LLEN', KEYS[1])
