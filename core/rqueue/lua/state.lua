-- state: set a crawl's state.
-- KEYS[1] state HASH   ARGV[1] run   ARGV[2] running, paused, stopped or finished
-- ARGV[3] what a finished crawl kept: filter, or ''
-- Returns 1, or 0 when the crawl is in another run.
if call('HGET', KEYS[1], 'run') ~= ARGV[1] then return 0 end
if ARGV[2] ~= '' then call('HSET', KEYS[1], 'state', ARGV[2]) end
if ARGV[3] ~= '' then call('HSET', KEYS[1], 'kept', ARGV[3]) end
return 1
