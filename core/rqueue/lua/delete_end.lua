-- delete_end: the crawl is emptied (flush_shard): nothing of it stays (rule 14).
-- KEYS[1] state HASH   KEYS[2] the system's crawls ZSET   KEYS[3..] every other key of the crawl
-- ARGV[1] run that the flush under way leads to   ARGV[2] crawl
-- Returns 1 deleted, 0 when the flush is over: the crawl was opened again, or is deleted already.
if call('HGET', KEYS[1], 'flush') ~= ARGV[1] then return 0 end
call('ZREM', KEYS[2], ARGV[2])
for i = 3, #KEYS, 1000 do call('UNLINK', unpack(KEYS, i, math.min(i + 999, #KEYS))) end
call('UNLINK', KEYS[1])
return 1
