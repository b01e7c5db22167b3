-- unpark: a host is parked no more, and its parked dead letters wait again (rule 23).
-- KEYS[1] state HASH   KEYS[2] dead LIST   KEYS[3] requests ZSET
-- KEYS[4] index ZSET   KEYS[5] meta HASH   KEYS[6] totals HASH
-- ARGV[1] now or ''   ARGV[2] host   ARGV[3] run   ARGV[4] queue class p, f or l
-- ARGV[5] letters to look at, >= 0   ARGV[6] 1 to remove the mark
-- Letters of other causes go to the end of the list: once all were looked at, they are in their order again.
-- Returns {1 when there was a mark, letters in all, letters looked at, letters that wait again}, or {-1} in another run.
local nf = clock(ARGV[1])
local host, class = ARGV[2], ARGV[4]
if call('HGET', KEYS[1], 'run') ~= ARGV[3] then return {-1} end
local all = call('LLEN', KEYS[2])
call('HLEN', KEYS[5]) -- a key of a wrong type is refused here, before anything is written
call('ZCARD', KEYS[4])
local waiting = call('ZCARD', KEYS[3])
local had = 0
if ARGV[6] == '1' then had = call('HDEL', KEYS[1], 'parked:' .. host) end
local n, looked = 0, math.min(all, tonumber(ARGV[5]))
for _ = 1, looked do
  local d = call('LPOP', KEYS[2])
  local head = string.find(d, '\n', 1, true)
  if head and string.find(sub(d, 1, head), '^%d+ parked: ') then
    local e, score = sub(d, head + 1), 0
    if class == 'p' then
      score = 2147483648 - tonumber(sub(e, 13, 20), 16)
    elseif class == 'l' then
      score = -tonumber(sub(e, 1, 10), 16)
    end
    call('ZADD', KEYS[3], score, e)
    n = n + 1
  else
    call('RPUSH', KEYS[2], d)
  end
end
if n > 0 then
  call('HINCRBY', KEYS[5], 'dead', -n)
  call('HINCRBY', KEYS[5], 'parked', -n)
  call('HINCRBY', KEYS[6], 'dead', -n)
  if waiting == 0 then call('ZADD', KEYS[4], 'LT', nf, host) end
end
return {had, all, looked, n}
