-- giveback: unsent requests wait again, in their old order and uncounted (rule 11).
-- KEYS[1] leased HASH   KEYS[2] requests ZSET   KEYS[3] index ZSET   KEYS[4] totals HASH
-- ARGV[1] now or ''   ARGV[2] host   ARGV[3] queue class   ARGV[4..] id, request token, ...
-- Returns {'ok', now, leases that were no longer held}.
if #KEYS == 0 then return {'ok', (clock(ARGV[1])), 0} end
local leased, requests, class = KEYS[1], KEYS[2], ARGV[3]
local nf = clock(ARGV[1])
local back, gone = 0, 0
for i = 4, #ARGV, 2 do
  local id, token = ARGV[i], ARGV[i + 1]
  local v = call('HGET', leased, id)
  if v and sub(v, 1, #token) == token then
    local e, score = sub(v, #token + 1), 0
    if class == 'p' then
      score = 2147483648 - tonumber(sub(e, 13, 20), 16)
    elseif class == 'l' then
      score = -tonumber(sub(e, 1, 10), 16)
    end
    call('HDEL', leased, id)
    call('ZADD', requests, score, e)
    back = back + 1
  else
    gone = gone + 1
  end
end
if back > 0 then
  call('HINCRBY', KEYS[4], 'leased', -back)
  if call('ZCARD', requests) == back then call('ZADD', KEYS[3], 'LT', nf, ARGV[2]) end
end
return {'ok', nf, gone}
