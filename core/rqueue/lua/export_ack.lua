-- export_ack: items are safe in a file up to an offset: drop them and remember it, in one step; renews the lock.
-- KEYS[1] export LIST   KEYS[2] positions HASH file -> offset in bytes   KEYS[3] state HASH
-- KEYS[4] lock STRING '<member>|<file>'
-- ARGV[1] items   ARGV[2] file   ARGV[3] offset   ARGV[4] '<member>|<file>' that asks   ARGV[5] life of the lock, ms
-- Returns the number of items left, or -1 when the lock is not the asker's (it ran out, another may have written
-- the items meanwhile): then nothing is dropped and nothing remembered. Of a deleted crawl that left none, neither.
if call('EXISTS', KEYS[1], KEYS[3]) == 0 then return 0 end
if call('GET', KEYS[4]) ~= ARGV[4] then return -1 end
call('LTRIM', KEYS[1], ARGV[1], -1)
call('HSET', KEYS[2], ARGV[2], ARGV[3])
call('SET', KEYS[4], ARGV[4], 'PX', ARGV[5])
return call('LLEN', KEYS[1])
