-- robots_put: store it for 31 days (rule 19).
-- KEYS[1] robots HASH
-- ARGV[1] now or ''   ARGV[2] age in ms   ARGV[3] ms since it became unreachable, or 0
-- ARGV[4] status      ARGV[5] 1 with a body   ARGV[6] body
-- Returns 1.
local nf = clock(ARGV[1])
local since = tonumber(ARGV[3])
call('HSET', KEYS[1], 'fetched', nf - ARGV[2], 'unreachable', since > 0 and nf - since or 0, 'status', ARGV[4])
if ARGV[5] == '1' then call('HSET', KEYS[1], 'body', ARGV[6]) else call('HDEL', KEYS[1], 'body') end
call('PEXPIRE', KEYS[1], 31 * 86400000)
return 1
