-- seed_retake: take over claims that nobody acknowledged, under their old ids (rule 2).
-- KEYS[1] taken HASH claim id -> node|unix ms|message   KEYS[2] state HASH
-- ARGV[1] now or ''   ARGV[2] node   ARGV[3] age in ms   ARGV[4] 1: other nodes' claims whatever their age
-- ARGV[5] n, at most   ARGV[6] run
-- Returns {'ok', id, message, ...}, or {'stale'} as seed_claim.
local nf = clock(ARGV[1])
local m = call('HMGET', KEYS[2], 'run', 'flush')
if m[1] ~= ARGV[6] or m[2] then return {'stale'} end
local all = call('HGETALL', KEYS[1])
local out, n, head = {'ok'}, 0, ARGV[2] .. '|' .. string.format('%.0f', nf) .. '|'
for i = 1, #all, 2 do
  if n == tonumber(ARGV[5]) then break end
  local node, ms, message = string.match(all[i + 1], '^([^|]*)|(%d+)|(.*)$')
  if node and (nf - tonumber(ms) >= tonumber(ARGV[3]) or (ARGV[4] == '1' and node ~= ARGV[2])) then
    call('HSET', KEYS[1], all[i], head .. message)
    n = n + 1
    out[2 * n], out[2 * n + 1] = all[i], message
  end
end
return out
