-- cookies_put: store cookies, or remove them (rule 22).
-- KEYS[1] run STRING   KEYS[2] cookies HASH  domain -> lines, each ended by a line feed
-- ARGV[1] run          ARGV[2] most bytes of a domain   ARGV[3] most domains
-- ARGV[4..] for each cookie: domain, id, line or ''; the line begins with the id
-- A line takes the place of the one with its id. Past the bytes the oldest lines go, past
-- the domains new ones are not stored.
-- Returns 1, or 0 when the run is over.
if call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local most = tonumber(ARGV[2])
for i = 4, #ARGV, 3 do
  local domain, id, line = ARGV[i], ARGV[i + 1], ARGV[i + 2]
  local stored = call('HGET', KEYS[2], domain)
  local lines, n, bytes, placed = {}, 0, 0, line == ''
  for l in string.gmatch(stored or '', '[^\n]+') do
    local same = sub(l, 1, #id) == id
    if same then l, placed = line, true end
    if l ~= '' then
      n = n + 1
      lines[n] = l
      bytes = bytes + #l + 1
    end
  end
  if not placed then
    n = n + 1
    lines[n] = line
    bytes = bytes + #line + 1
  end
  local first = 1
  while first <= n and bytes > most do
    bytes = bytes - #lines[first] - 1
    first = first + 1
  end
  if first > n then
    if stored then call('HDEL', KEYS[2], domain) end
  elseif stored or call('HLEN', KEYS[2]) < tonumber(ARGV[3]) then
    call('HSET', KEYS[2], domain, table.concat(lines, '\n', first, n) .. '\n')
  end
end
return 1
