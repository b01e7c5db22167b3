-- seed_hosts: add to the hosts that the scope of the seeds covers.
-- KEYS[1] seed hosts SET   KEYS[2] state HASH   ARGV[1] run   ARGV[2..] hosts
-- Returns 1, or 0 when the crawl is in another run, or is no more.
if call('HGET', KEYS[2], 'run') ~= ARGV[1] then return 0 end
for i = 2, #ARGV, 1000 do call('SADD', KEYS[1], unpack(ARGV, i, math.min(i + 999, #ARGV))) end
return 1
