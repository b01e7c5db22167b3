-- due: hosts that someone must look at now, shard by shard, page by page (rule 12).
-- KEYS[1..] the index ZSETs of all shards, in order
-- ARGV[1] now or ''  ARGV[2] most hosts, >= 1  ARGV[3] shard to begin in, from 1
-- ARGV[4] score and ARGV[5] host after which to begin in that shard, or ''
-- ARGV[6] ms from now to which an entry counts as due, >= 0
-- ARGV[7] ms after which a due entry is late: its host has a '!' before it
-- Returns {now, ms until the earliest later entry seen or -1, shard or 0 at the end, score, hosts...}.
local nf = clock(ARGV[1])
local due, late = nf + tonumber(ARGV[6]), nf - tonumber(ARGV[7])
local room, at = tonumber(ARGV[2]), tonumber(ARGV[3])
local out = {nf, -1, 0, ''}
for s = at, #KEYS do
  local index, rank = KEYS[s], 0
  if s == at and ARGV[4] ~= '' then
    local score, host = tonumber(ARGV[4]), ARGV[5]
    local is = call('ZSCORE', index, host)
    if is and tonumber(is) == score then
      rank = call('ZRANK', index, host) + 1
    else -- the entry moved or went: put it where it was, to see where that is
      call('ZADD', index, ARGV[4], host)
      rank = call('ZRANK', index, host)
      if not is then
        call('ZREM', index, host)
      else
        call('ZADD', index, is, host)
        if tonumber(is) < score then rank = rank + 1 end
      end
    end
  end
  local e = call('ZRANGE', index, rank, rank, 'WITHSCORES')
  if e[1] then
    if tonumber(e[2]) <= due then
      if room == 0 then
        out[3] = s
        return out
      end
      e = call('ZRANGE', index, rank, rank + room, 'WITHSCORES')
    end
    for i = 1, #e, 2 do
      local score = tonumber(e[i + 1])
      if score > due then
        if out[2] < 0 or score - nf < out[2] then out[2] = score - nf end
        break
      end
      if room == 0 then
        out[3], out[4] = s, e[i - 1]
        return out
      end
      out[#out + 1] = score < late and '!' .. e[i] or e[i]
      room = room - 1
    end
  end
end
return out
