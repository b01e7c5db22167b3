-- flush_shard: begin the shard's new run and delete some of its hosts (rule 14).
-- KEYS[1] run STRING   KEYS[2] known SET   KEYS[3] index ZSET   KEYS[4] state HASH   KEYS[5] cookies HASH
-- ARGV[1] new run      ARGV[2] prefix of a host's keys, ends in ':'   ARGV[3] hosts, at most
-- The keys of a host are named here from those in known: they share the shard's hash tag.
-- While hosts are left the run ends in '!', which no script takes for its own.
-- A flush that slept until it was over, by another's hand, changes nothing.
-- Returns the number of hosts deleted, or -1 when the shard is in the new run or the flush is over.
local run = ARGV[1]
if call('HGET', KEYS[4], 'flush') ~= run or call('GET', KEYS[1]) == run then return -1 end
call('DEL', KEYS[1]) -- a full store allows this write, and then what follows a write
call('SET', KEYS[1], run .. '!')
call('UNLINK', KEYS[5])
local hosts = call('SRANDMEMBER', KEYS[2], ARGV[3])
for i = 1, #hosts do
  local h = ARGV[2] .. hosts[i] .. ':'
  local seen = h .. 'seen:'
  local nb = tonumber(call('HGET', h .. 'meta', 'buckets') or 1)
  for b = 0, nb - 1 do call('UNLINK', seen .. b) end
  call('UNLINK', h .. 'requests', h .. 'delayed', h .. 'leased', h .. 'dead', h .. 'meta')
  call('ZREM', KEYS[3], hosts[i])
  call('SREM', KEYS[2], hosts[i])
end
if #hosts < tonumber(ARGV[3]) then
  call('DEL', KEYS[3])
  call('SET', KEYS[1], run)
  return -1
end
return #hosts
