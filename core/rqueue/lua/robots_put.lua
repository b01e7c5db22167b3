-- robots_put: store what an answer or its absence says, for 31 days from now (rule 19). While robots.txt is
-- unreachable the last good copy, its time and its life stay.
-- KEYS[1] robots HASH
-- ARGV[1] now or ''   ARGV[2] ms since it became unreachable, or 0   ARGV[3] status
-- unreachable: ARGV[4] failures in a row   ARGV[5] ms until the next try
-- else:        ARGV[4] age in ms           ARGV[5] ms that it may be used   ARGV[6] 1 with a body   ARGV[7] body
-- Returns 1.
local nf, nc = clock(ARGV[1])
local since = tonumber(ARGV[2])
if since > 0 then
  call('HSET', KEYS[1], 'unreachable', nf - since, 'status', ARGV[3], 'failures', ARGV[4], 'retry', nc + ARGV[5], 'wait', ARGV[5])
else
  call('HSET', KEYS[1], 'unreachable', 0, 'status', ARGV[3], 'failures', 0, 'retry', 0, 'wait', 0, 'fetched', nf - ARGV[4], 'life', ARGV[5])
  if ARGV[6] == '1' then call('HSET', KEYS[1], 'body', ARGV[7]) else call('HDEL', KEYS[1], 'body') end
end
call('PEXPIRE', KEYS[1], 31 * 86400000)
return 1
