-- robots_get: the stored robots.txt of an origin, with ages instead of times (rule 19).
-- KEYS[1] robots HASH   ARGV[1] now or ''
-- Returns {} or {age in ms, ms since it became unreachable or 0, status, 1 with a body, body}.
local nf = clock(ARGV[1])
local m = call('HMGET', KEYS[1], 'fetched', 'unreachable', 'status', 'body')
if not m[1] then return {} end
local since = tonumber(m[2])
return {math.max(nf - m[1], 0), since > 0 and math.max(nf - since, 1) or 0, tonumber(m[3]), m[4] and 1 or 0, m[4] or ''}
