-- prelude: put before every script.
-- The nodes ZSET holds member id -> joined, unix ms, and born -> when this list began, us: a list that
-- began at another time is another list, made after the store forgot the first. A member's STRING is
-- <nodes>:<id>, in the cluster slot of the ZSET, so scripts make its name of the ids that they find.
local call = redis.call
local born = '/born' -- no member's id has a slash

-- clock: the store's time, {unix ms, us}; arg, unix ms, overrides it in tests.
local function clock(arg)
  if arg ~= '' then return {tonumber(arg), tonumber(arg) * 1000} end
  local t = call('TIME')
  return {t[1] * 1000 + math.floor(t[2] / 1000), t[1] * 1000000 + t[2]}
end

-- begun: when the list of nodes began, as Redis writes the number; it begins now when there is none.
local function begun(nodes, now)
  local b = call('ZSCORE', nodes, born)
  if b then return b end
  call('ZADD', nodes, string.format('%.0f', now[2]), born)
  return call('ZSCORE', nodes, born)
end

-- list: {how, now, born, then for every member: id, joined, 1 when its STRING exists, the STRING or
-- '' when the caller has it or it is gone}. The caller has those of ARGV[from..].
local function list(how, now, nodes, from)
  local known = {}
  for i = from, #ARGV do known[ARGV[i]] = true end
  local out = {how, now[1], '0'}
  local all = call('ZRANGE', nodes, 0, -1, 'WITHSCORES')
  for i = 1, #all, 2 do
    local id, n = all[i], #out
    if id == born then
      out[3] = all[i + 1]
    else
      local alive, record = 0, ''
      if known[id] then
        alive = call('EXISTS', nodes .. ':' .. id)
      else
        local got = call('GET', nodes .. ':' .. id)
        if got then alive, record = 1, got end
      end
      out[n + 1], out[n + 2], out[n + 3], out[n + 4] = id, all[i + 1], alive, record
    end
  end
  return out
end
