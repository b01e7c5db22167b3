-- export_ack: items are safe in a file up to an offset: drop them and remember it, in one step.
-- KEYS[1] export LIST   KEYS[2] positions HASH file -> offset in bytes   KEYS[3] state HASH
-- ARGV[1] items   ARGV[2] file   ARGV[3] offset
-- Returns the number of items left; of a deleted crawl that left none, nothing is remembered.
if call('EXISTS', KEYS[1], KEYS[3]) == 0 then return 0 end
call('LTRIM', KEYS[1], ARGV[1], -1)
call('HSET', KEYS[2], ARGV[2], ARGV[3])
return call('LLEN', KEYS[1])
