-- flush_end: the crawl is in its new run, with nothing seen (rule 14).
-- KEYS[1] state HASH   KEYS[2] totals HASH   KEYS[3] dupefilter SET when one is shared
-- ARGV[1] new run   
-- Returns 1, or 0 when another did it.
local m = call('HMGET', KEYS[1], 'flush', 'state')
if m[1] ~= ARGV[1] then return 0 end
call('HDEL', KEYS[1], 'flush')
local fields = call('HKEYS', KEYS[1])
for i = 1, #fields do
  if sub(fields[i], 1, 7) == 'parked:' then call('HDEL', KEYS[1], fields[i]) end
end
call('DEL', KEYS[2])
if KEYS[3] then call('UNLINK', KEYS[3]) end
call('HSET', KEYS[1], 'run', ARGV[1])
if m[2] == 'finished' then call('HSET', KEYS[1], 'kept', 'nothing') end
return 1
