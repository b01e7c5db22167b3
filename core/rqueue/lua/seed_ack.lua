-- seed_ack: forget claims whose requests are enqueued (rule 2), or put them with the rejected.
-- KEYS[1] taken HASH claim id -> node|unix ms|message   KEYS[2] rejected LIST
-- ARGV[1] node   ARGV[2] what to store with the rejected, or ''   ARGV[3..] claim ids
-- Returns the number acknowledged; a claim that another node holds is left alone.
local n, head = 0, ARGV[1] .. '|'
for i = 3, #ARGV do
  local v = call('HGET', KEYS[1], ARGV[i])
  if v and sub(v, 1, #head) == head then
    call('HDEL', KEYS[1], ARGV[i])
    if ARGV[2] ~= '' then call('RPUSH', KEYS[2], ARGV[2]) end
    n = n + 1
  end
end
return n
