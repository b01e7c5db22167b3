-- forget: let one URL in again (rule 18).
-- KEYS[1] first filter bucket SET   KEYS[2] meta HASH   KEYS[3] requests ZSET
-- KEYS[4] delayed ZSET   KEYS[5] leased HASH   KEYS[6] dupefilter SET of 40-hex, or the first again
-- KEYS[7] totals HASH   KEYS[8] state HASH: its forgets empties the nodes' caches
-- ARGV[1] run   ARGV[2] member   ARGV[3] fingerprint, 20 bytes as entries hold it   ARGV[4] the same in hex, or ''
-- Returns 1 forgotten, 0 it was not known, -1 another run, -2 its request waits or is leased.
local m = call('HMGET', KEYS[2], 'run', 'buckets')
if not m[1] then return 0 end
if m[1] ~= ARGV[1] then return -1 end
for i = 3, 4 do
  local at = 0
  repeat
    local page = call('ZRANGE', KEYS[i], at, at + 999)
    for j = 1, #page do
      if string.find(page[j], ARGV[3], 1, true) then return -2 end
    end
    at = at + 1000
  until #page < 1000
end
local all = call('HVALS', KEYS[5])
for i = 1, #all do
  if string.find(all[i], ARGV[3], 1, true) then return -2 end
end
local member, key = ARGV[2], KEYS[1]
local nb = tonumber(m[2])
if nb > 1 then
  local low = 1
  while low * 2 <= nb do low = low * 2 end
  local v = tonumber(sub(string.byte(member) == 45 and sub(member, 2) or member, -15))
  local b = v % (2 * low)
  if b >= nb then b = v % low end
  key = sub(KEYS[1], 1, -2) .. b
end
local n = call('SREM', key, member)
if ARGV[4] ~= '' then call('SREM', KEYS[6], ARGV[4]) end
if n == 1 then
  call('HINCRBY', KEYS[2], 'members', -1)
  call('HINCRBY', KEYS[2], 'forgotten', 1)
  call('HINCRBY', KEYS[7], 'forgotten', 1)
  call('HINCRBY', KEYS[8], 'forgets', 1)
end
return n
