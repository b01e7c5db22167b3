-- export_read: the first items that await a file, for the one process that writes them.
-- KEYS[1] export LIST   KEYS[2] lock STRING '<member>|<file>'   KEYS[3] state HASH
-- ARGV[1] '<member>|<file>' that asks   ARGV[2] life of the lock, ms   ARGV[3] items, >= 1
-- ARGV[4] 1: whoever else has the lock is dead (alone with the store)
-- Returns {'ok', item...}, the lock taken or renewed; or {'held', '<member>|<file>', life left in ms, items in the list}.
-- Of a deleted crawl that left no items, no lock is taken.
if call('EXISTS', KEYS[1], KEYS[3]) == 0 then return {'ok'} end
local holder = call('GET', KEYS[2])
if holder and holder ~= ARGV[1] and ARGV[4] ~= '1' then
  return {'held', holder, math.max(call('PTTL', KEYS[2]), 0), call('LLEN', KEYS[1])}
end
call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
local out = call('LRANGE', KEYS[1], 0, tonumber(ARGV[3]) - 1)
table.insert(out, 1, 'ok')
return out
