-- cookies_get: the stored cookies of some domains (rule 22).
-- KEYS[1] run STRING   KEYS[2] cookies HASH   ARGV[1] run   ARGV[2..] domains
-- Returns their lines, one bulk a domain, '' for none; {} when the run is over.
if call('GET', KEYS[1]) ~= ARGV[1] then return {} end
local out = {}
for i = 2, #ARGV do out[i - 1] = call('HGET', KEYS[2], ARGV[i]) or '' end
return out
