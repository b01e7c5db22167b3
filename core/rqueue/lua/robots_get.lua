-- robots_get: the stored robots.txt of an origin, with ages instead of times (rule 19).
-- KEYS[1] robots HASH   ARGV[1] now or ''
-- Returns {} or {ms since the last good answer or -1, ms that it may be used, ms since it became unreachable or 0,
--         failures in a row, ms until the next try, status of the last answer, 1 with a body, body}.
local nf, nc = clock(ARGV[1])
local m = call('HMGET', KEYS[1], 'fetched', 'life', 'unreachable', 'failures', 'retry', 'wait', 'status', 'body')
if not m[7] then return {} end
local since, wait = tonumber(m[3] or 0), tonumber(m[6] or 0)
return {m[1] and math.max(nf - m[1], 0) or -1, tonumber(m[2] or 0), since > 0 and math.max(nf - since, 1) or 0,
  tonumber(m[4] or 0), math.max(math.min((m[5] or 0) - nc, wait), 0), tonumber(m[7]), m[8] and 1 or 0, m[8] or ''}
