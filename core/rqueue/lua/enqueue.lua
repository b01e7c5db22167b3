-- enqueue: let new requests in, at many hosts at once (rules 1, 9, 12, 14, 17, 18, 21).
-- ARGV[1] now or ''   ARGV[2] groups; a group is one crawl's shard:
--   KEYS  index ZSET, run STRING, known SET, totals HASH [, dupefilter SET of 40-hex fingerprints]
--   ARGV  run, queue class p, f or l, hosts, 1 when a dupefilter is shared (rule 17),
--         most requests that a host lets in (0: any number); links with
--         two members, which are seeds, are let in all the same
--   then for each of its hosts:
--     KEYS  first filter bucket SET of int64 (its name ends in 0; the others differ in that number
--           and are named here: the one exception to keys passed in), meta HASH, requests ZSET
--     ARGV  host, links; then for each link:
--           member that decides, second member or '', order (score; not for l), tail [, 40-hex]
-- A tail is an entry without its sequence and times lost (see lease).
-- A host whose run is another is left alone, with all its links; so is a link whose filter or a host
-- whose keys are of a wrong type, or cannot be written: nothing is raised once something was.
-- Returns {now, {links filtered}, {hosts that had nothing waiting and now have}, {hosts of another run},
-- {link, what the store said, ...}, {links refused: their host has let in the most}}, links and hosts
-- counted from 0 over the whole call.
local format, byte, pcall = string.format, string.byte, redis.pcall

-- place: the bucket of a member under linear hashing with nb buckets, low the largest power of two <= nb.
-- Members are never numbers in Lua: a double would round them.
local function place(member, nb, low)
  local v = tonumber(sub(byte(member) == 45 and sub(member, 2) or member, -15))
  local b = v % (2 * low)
  if b >= nb then b = v % low end
  return b
end

local nf = clock(ARGV[1])
local a, k, link, host = 3, 1, 0, 0
local filtered, woken, stale, bad, refused = {}, {}, {}, {}, {}
local totals, total = nil, 0
for _ = 1, tonumber(ARGV[2]) do
  local run, class, hosts, shared = ARGV[a], ARGV[a + 1], tonumber(ARGV[a + 2]), ARGV[a + 3] == '1'
  local most = tonumber(ARGV[a + 4])
  if most == 0 then most = math.huge end
  a = a + 5
  local index, runkey, known, tk = KEYS[k], KEYS[k + 1], KEYS[k + 2], KEYS[k + 3]
  k = k + 4
  local dupefilter
  if shared then
    dupefilter = KEYS[k]
    k = k + 1
  end
  if tk ~= totals then
    if total > 0 then call('HINCRBY', totals, 'seen', total) end
    totals, total = tk, 0
  end
  local step = (class == 'l' and 3 or 4) + (shared and 1 or 0)
  for _ = 1, hosts do
    local name, links = ARGV[a], tonumber(ARGV[a + 1])
    a = a + 2
    local bucket0, meta, requests = KEYS[k], KEYS[k + 1], KEYS[k + 2]
    k = k + 3
    local m = pcall('HMGET', meta, 'run', 'seen', 'members', 'buckets')
    local waiting = pcall('ZCARD', requests)
    local err = m.err or (type(waiting) == 'table' and waiting.err)
    local fresh = not m[1]
    if err then
      for i = link, link + links - 1 do
        bad[#bad + 1] = i
        bad[#bad + 1] = err
      end
      link = link + links
      a = a + links * step
    elseif (m[1] or call('GET', runkey)) ~= run then
      stale[#stale + 1] = host
      link = link + links
      a = a + links * step
    else
      local seen, members, nb = tonumber(m[2] or 0), tonumber(m[3] or 0), tonumber(m[4] or 1)
      local before, had, nb0 = seen, members, nb
      local base, low = nil, 1
      if nb > 1 then
        base = sub(bucket0, 1, -2)
        while low * 2 <= nb do low = low * 2 end
      end
      local z, zn = {}, 0
      for _ = 1, links do
        local decide, second = ARGV[a], ARGV[a + 1]
        local key = bucket0
        if nb > 1 then key = base .. place(decide, nb, low) end
        local added
        if seen < most or second ~= '' then
          added = pcall('SADD', key, decide)
        else
          added = pcall('SISMEMBER', key, decide)
          if added == 1 then
            added = 0
          elseif added == 0 then
            refused[#refused + 1] = link
            added = nil
          end
        end
        local new = added == 1
        if new then members = members + 1 end
        if type(added) == 'table' then
          bad[#bad + 1] = link
          bad[#bad + 1] = added.err
          second = ''
        end
        if second ~= '' then
          if nb > 1 then key = base .. place(second, nb, low) end
          added = pcall('SADD', key, second)
          if added == 1 then members = members + 1 end
          added = new and 1 or 0
        end
        if new and shared and ARGV[a + step - 1] ~= '' then
          if pcall('SADD', dupefilter, ARGV[a + step - 1]) == 0 then new, added = false, 0 end
        end
        if new then
          seen = seen + 1
          local score, tail
          if class == 'l' then
            score, tail = -seen, ARGV[a + 2]
          else
            score, tail = ARGV[a + 2], ARGV[a + 3]
          end
          z[zn + 1], z[zn + 2] = score, format('%010x00', seen) .. tail
          zn = zn + 2
          if zn == 1000 then
            call('ZADD', requests, unpack(z))
            z, zn = {}, 0
          end
        elseif added == 0 or added == 1 then
          filtered[#filtered + 1] = link
        end
        while members > 200 * nb do -- split the next bucket in turn
          base = base or sub(bucket0, 1, -2)
          local from, to = base .. (nb - low), base .. nb
          local all, move = call('SMEMBERS', from), {}
          for i = 1, #all do
            if place(all[i], nb + 1, nb + 1 == 2 * low and nb + 1 or low) == nb then move[#move + 1] = all[i] end
          end
          for i = 1, #move, 500 do
            local last = math.min(i + 499, #move)
            call('SREM', from, unpack(move, i, last))
            call('SADD', to, unpack(move, i, last))
          end
          nb = nb + 1
          if nb == 2 * low then low = nb end
        end
        a = a + step
        link = link + 1
      end
      if zn > 0 then call('ZADD', requests, unpack(z)) end
      if members ~= had or seen ~= before then
        if fresh then
          call('HSET', meta, 'run', run, 'seen', seen, 'members', members, 'buckets', nb)
          call('SADD', known, name)
        elseif nb ~= nb0 then
          call('HSET', meta, 'seen', seen, 'members', members, 'buckets', nb)
        else
          call('HSET', meta, 'seen', seen, 'members', members)
        end
      end
      if seen ~= before then
        total = total + seen - before
        if waiting == 0 then
          call('ZADD', index, 'LT', nf, name)
          woken[#woken + 1] = host
        end
      end
    end
    host = host + 1
  end
end
if total > 0 then call('HINCRBY', totals, 'seen', total) end
return {nf, filtered, woken, stale, bad, refused}
