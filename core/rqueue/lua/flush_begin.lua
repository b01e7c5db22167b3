-- flush_begin: choose the run that a flush leads to; a flush cut short goes on with its own (rule 14).
-- KEYS[1] state HASH   ARGV[1] now or ''   ARGV[2] run that is to end, or '' for whichever
-- Returns the new run, or '' when the crawl is not in ARGV[2] any more.
local nf = clock(ARGV[1])
local m = call('HMGET', KEYS[1], 'run', 'flush')
if m[2] then return m[2] end
if ARGV[2] ~= '' and m[1] ~= ARGV[2] then return '' end
local run = string.format('%.0f', math.max(tonumber(m[1] or 0) + 1, nf))
call('HDEL', KEYS[1], '') -- a full store allows this write, and then what follows a write
call('HSET', KEYS[1], 'flush', run)
return run
