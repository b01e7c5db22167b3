-- parked: why a host is put aside (rule 23).
-- KEYS[1] state HASH   ARGV[1] host   ARGV[2] run
-- Returns the reason, '' when it is not parked or the run is over.
local m = call('HMGET', KEYS[1], 'run', 'parked:' .. ARGV[1])
if m[1] ~= ARGV[2] or not m[2] then return '' end
return sub(m[2], string.find(m[2], ' ', 1, true) + 1)
