-- recover: return to waiting what is leased and not kept (rule 11).
-- KEYS[1] slot HASH   KEYS[2] leased HASH   KEYS[3] requests ZSET   KEYS[4] dead LIST
-- KEYS[5] meta HASH   KEYS[6] index ZSET    KEYS[7] totals HASH     KEYS[8] delayed ZSET
-- ARGV[1] now or ''   ARGV[2] token   ARGV[3] host   ARGV[4] queue class
-- ARGV[5] times a request may be lost   ARGV[6..] ids kept (16 bytes each)
-- Returns {'ok', now, recovered, dead} or {'lost', now}.
local leased, requests = KEYS[2], KEYS[3]
local nf, nc = clock(ARGV[1])
local m = call('HMGET', KEYS[1], 'tok', 'exp')
if m[1] ~= ARGV[2] or tonumber(m[2]) <= nf then return {'lost', nf} end
local keep = {}
for i = 6, #ARGV do keep[ARGV[i]] = true end
local all = call('HGETALL', leased)
local back, dead, most, class = 0, 0, tonumber(ARGV[5]), ARGV[4]
for i = 1, #all, 2 do
  local id = all[i]
  if not keep[id] then
    local e = sub(all[i + 1], string.find(all[i + 1], '|', 1, true) + 1)
    local lost = tonumber(sub(e, 11, 12), 16) + 1
    call('HDEL', leased, id)
    if lost > most then
      call('RPUSH', KEYS[4], string.format('%.0f', nf) .. ' lost\n' .. e)
      dead = dead + 1
    else
      e = sub(e, 1, 10) .. string.format('%02x', lost) .. sub(e, 13)
      local score = 0
      if class == 'p' then
        score = 2147483648 - tonumber(sub(e, 13, 20), 16)
      elseif class == 'l' then
        score = -tonumber(sub(e, 1, 10), 16)
      end
      call('ZADD', requests, score, e)
      back = back + 1
    end
  end
end
if back + dead > 0 then
  call('HINCRBY', KEYS[5], 'lost', back + dead)
  call('HINCRBY', KEYS[7], 'lost', back + dead)
  call('HINCRBY', KEYS[7], 'leased', -(back + dead))
  if dead > 0 then
    call('HINCRBY', KEYS[5], 'dead', dead)
    call('HINCRBY', KEYS[7], 'dead', dead)
  end
  if back > 0 and call('ZCARD', requests) == back then
    call('ZADD', KEYS[6], 'LT', nf, ARGV[3])
  elseif back == 0 and call('HLEN', leased) == 0 and call('ZCARD', requests) == 0 and call('ZCARD', KEYS[8]) == 0 then
    call('ZREM', KEYS[6], ARGV[3])
  end
end
return {'ok', nf, back, dead}
