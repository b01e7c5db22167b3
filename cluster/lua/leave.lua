-- leave: leave the list at once; nothing happens when the member is not in it.
-- KEYS[1] nodes ZSET member id -> joined, unix ms     KEYS[2] own STRING, JSON with expiry
-- ARGV[1] now or ''  ARGV[2] id
-- Returns {'ok', now, born or '0'}.
call('ZREM', KEYS[1], ARGV[2])
call('DEL', KEYS[2])
return {'ok', clock(ARGV[1])[1], call('ZSCORE', KEYS[1], born) or '0'}
