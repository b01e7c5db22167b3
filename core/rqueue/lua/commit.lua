-- commit: end leases of many pages at once: done with items, retried or dead (rules 1, 3, 10).
-- ARGV[1] now or ''   ARGV[2] groups; a group is one crawl:
--   KEYS  totals HASH, stats HASH, state HASH [, items LIST] [, export LIST]
--   ARGV  run, stats, hosts, 1 to push items, 1 to export them, hosts to park; then for each stat: name, addend
--   then for each host to park: host, reason       the first reason of a host stays (rule 23)
--   then for each host:
--     KEYS  leased HASH, meta HASH, index ZSET, requests ZSET, delayed ZSET, dead LIST
--     ARGV  host, pages; then for each page: id, request token, and
--           d, items, each item                done: items are stored, the lease goes
--           r, due in ms, tail or ''           retry: delayed, with its new counters
--           x, cause, tail or ''               dead
--           p, cause, queue class p, f or l    dead while the host is parked, else waiting again
-- The stats and parked hosts of another run than the crawl's, or of a deleted crawl,
-- are dropped.
-- A page whose lease is not under its token is left alone: its items are not stored.
-- Nothing is raised between the first lease that goes and the items that it owes.
-- Returns {now, {pages left alone}, {page, what the store said, ...}}, pages counted
-- from 0 over the whole call; the last are pages whose keys are of a wrong type.
local pcall = redis.pcall
local nf, nc = clock(ARGV[1])
local a, k, page = 3, 1, 0
local gone, bad = {}, {}

local function list(key)
  local t = call('TYPE', key)
  t = t.ok or t
  if t ~= 'none' and t ~= 'list' then error('WRONGTYPE ' .. key .. ' holds a ' .. t .. ', want a list', 0) end
  return key
end

local function push(key, items, n)
  for i = 1, n, 500 do call('RPUSH', key, unpack(items, i, math.min(i + 499, n))) end
end

for _ = 1, tonumber(ARGV[2]) do
  local run, stats, hosts = ARGV[a], tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2])
  local store, export, parks = ARGV[a + 3] == '1', ARGV[a + 4] == '1', tonumber(ARGV[a + 5])
  a = a + 6
  local totals, statskey, state = KEYS[k], KEYS[k + 1], KEYS[k + 2]
  k = k + 3
  local itemskey, exportkey
  if store then
    itemskey = list(KEYS[k])
    k = k + 1
  end
  if export then
    exportkey = list(KEYS[k])
    k = k + 1
  end
  local stat = a
  a = a + 2 * stats
  local park, marks = a, {}
  a = a + 2 * parks
  if stats + parks > 0 and call('HGET', state, 'run') ~= run then stats, parks = 0, 0 end
  for i = park, park + 2 * parks - 1, 2 do marks[ARGV[i]] = true end
  local items, ni = {}, 0
  local work, nw = {}, 0 -- per host: its first key, name, done, dead, of them parked
  local alldone, allretried, alldead, allback = 0, 0, 0, 0
  for _ = 1, hosts do
    local host, pages = ARGV[a], tonumber(ARGV[a + 1])
    a = a + 2
    local leased = KEYS[k]
    local done, dead, put, back = 0, 0, 0, 0
    for _ = 1, pages do
      local id, token, kind = ARGV[a], ARGV[a + 1], ARGV[a + 2]
      local v = pcall('HGET', leased, id)
      local err = type(v) == 'table' and v.err
      local held = v and not err and sub(v, 1, #token) == token
      if kind == 'd' then
        local n = tonumber(ARGV[a + 3])
        if held then
          call('HDEL', leased, id)
          for i = a + 4, a + 3 + n do
            ni = ni + 1
            items[ni] = ARGV[i]
          end
          done = done + 1
        end
        a = a + 4 + n
      else
        if held then
          local e = sub(v, #token + 1)
          if ARGV[a + 4] ~= '' and kind ~= 'p' then e = sub(e, 1, 12) .. ARGV[a + 4] end
          local r
          if kind == 'r' then
            local due = nc + tonumber(ARGV[a + 3])
            r = pcall('ZADD', KEYS[k + 4], due, e)
            if type(r) ~= 'table' then
              pcall('ZADD', KEYS[k + 2], 'LT', due, host)
              allretried = allretried + 1
            end
          elseif kind == 'p' and not marks[host] and pcall('HEXISTS', state, 'parked:' .. host) == 0 then
            local score, class = 0, ARGV[a + 4] -- released meanwhile
            if class == 'p' then
              score = 2147483648 - tonumber(sub(e, 13, 20), 16)
            elseif class == 'l' then
              score = -tonumber(sub(e, 1, 10), 16)
            end
            r = pcall('ZADD', KEYS[k + 3], score, e)
            if type(r) ~= 'table' then
              pcall('ZADD', KEYS[k + 2], 'LT', nf, host)
              back = back + 1
            end
          else
            r = pcall('RPUSH', KEYS[k + 5], string.format('%.0f', nf) .. ' ' .. ARGV[a + 3] .. '\n' .. e)
            if type(r) ~= 'table' then
              dead = dead + 1
              if kind == 'p' then put = put + 1 end
            end
          end
          if type(r) == 'table' then err = r.err else call('HDEL', leased, id) end
        end
        a = a + 5
      end
      if err then
        bad[#bad + 1] = page
        bad[#bad + 1] = err
      elseif not held then
        gone[#gone + 1] = page
      end
      page = page + 1
    end
    if marks[host] then pcall('ZADD', KEYS[k + 2], 'XX', 'LT', nf, host) end -- what waits is to end now
    if done + dead > 0 then
      work[nw + 1], work[nw + 2], work[nw + 3], work[nw + 4], work[nw + 5] = k, host, done, dead, put
      nw = nw + 5
    end
    alldone, alldead, allback = alldone + done, alldead + dead, allback + back
    k = k + 6
  end
  if ni > 0 then
    if store then push(itemskey, items, ni) end
    if export then push(exportkey, items, ni) end
  end
  for i = 1, nw, 5 do -- count, and settle
    local h = work[i]
    if work[i + 2] > 0 then call('HINCRBY', KEYS[h + 1], 'done', work[i + 2]) end
    if work[i + 3] > 0 then call('HINCRBY', KEYS[h + 1], 'dead', work[i + 3]) end
    if work[i + 4] > 0 then call('HINCRBY', KEYS[h + 1], 'parked', work[i + 4]) end
    if call('HLEN', KEYS[h]) == 0 and call('ZCARD', KEYS[h + 3]) == 0 and call('ZCARD', KEYS[h + 4]) == 0 then
      call('ZREM', KEYS[h + 2], work[i + 1])
    end
  end
  if alldone > 0 then call('HINCRBY', totals, 'done', alldone) end
  if alldead > 0 then call('HINCRBY', totals, 'dead', alldead) end
  if allretried > 0 then call('HINCRBY', totals, 'delayed', allretried) end
  local ended = alldone + alldead + allretried + allback
  if ended > 0 then call('HINCRBY', totals, 'leased', -ended) end
  for i = park, park + 2 * parks - 1, 2 do
    if call('HSETNX', state, 'parked:' .. ARGV[i], string.format('%.0f', nf) .. ' ' .. ARGV[i + 1]) == 1 then
      call('HINCRBY', statskey, 'parked/hosts', 1)
    end
  end
  for i = stat, stat + 2 * stats - 1, 2 do call('HINCRBY', statskey, ARGV[i], ARGV[i + 1]) end
end
return {nf, gone, bad}
