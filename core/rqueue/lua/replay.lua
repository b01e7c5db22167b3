-- replay: dead requests wait again.
-- KEYS[1] dead LIST   KEYS[2] requests ZSET   KEYS[3] index ZSET   KEYS[4] meta HASH   KEYS[5] totals HASH
-- ARGV[1] now or ''   ARGV[2] host   ARGV[3] run   ARGV[4..] dead letter as stored, order, new entry, ...
-- Returns the number replayed, or -1 in another run.
local nf = clock(ARGV[1])
if call('HGET', KEYS[4], 'run') ~= ARGV[3] then return -1 end
local n, parked = 0, 0
for i = 4, #ARGV, 3 do
  if call('LREM', KEYS[1], 1, ARGV[i]) == 1 then
    call('ZADD', KEYS[2], ARGV[i + 1], ARGV[i + 2])
    n = n + 1
    if string.find(ARGV[i], '^%d+ parked: ') then parked = parked + 1 end
  end
end
if n > 0 then
  call('HINCRBY', KEYS[4], 'dead', -n)
  call('HINCRBY', KEYS[5], 'dead', -n)
  if parked > 0 then call('HINCRBY', KEYS[4], 'parked', -parked) end
  if call('ZCARD', KEYS[2]) == n then call('ZADD', KEYS[3], 'LT', nf, ARGV[2]) end
end
return n
