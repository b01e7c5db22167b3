-- prelude: put before every script.
-- clock(arg): the store's time in unix ms, rounded down and rounded up; arg overrides
-- it in tests. What must not be early is computed from the second, what has come from the first.
local call, sub = redis.call, string.sub
local function clock(arg)
  if arg ~= '' then
    local t = tonumber(arg)
    return t, t
  end
  local t = call('TIME')
  local us = tonumber(t[2])
  local ms = t[1] * 1000 + math.floor(us / 1000)
  if us % 1000 == 0 then return ms, ms end
  return ms, ms + 1
end
