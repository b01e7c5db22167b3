-- export_release: the process that writes a crawl's items writes no more.
-- KEYS[1] lock STRING owner   ARGV[1] owner
-- Returns 1 when it had the lock, else 0.
if call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return call('DEL', KEYS[1])
