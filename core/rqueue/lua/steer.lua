-- steer: pause or resume a slot from outside; its owner sees it at the next renew or lease.
-- KEYS[1] slot HASH   ARGV[1] 1 paused, 0 not, '' as it is
-- Returns the slot's steering version.
if ARGV[1] ~= '' then call('HSET', KEYS[1], 'paused', ARGV[1]) end
return call('HINCRBY', KEYS[1], 'version', 1)
