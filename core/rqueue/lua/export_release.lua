-- export_release: the process that writes a crawl's items writes no more.
-- KEYS[1] lock STRING '<member>|<file>'   ARGV[1] '<member>|<file>' that asks
-- Returns 1 when it had the lock, else 0.
if call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return call('DEL', KEYS[1])
