-- acquire: take a slot that is free, expired or this node's own (rules 5 to 8, 12).
-- KEYS[1]   slot    HASH  tok, epoch, exp, ttl, next, wait, gap, hold, holdfor, st, paused, ln
-- KEYS[2..] index   ZSET  host -> when someone must look at it, unix ms; one a crawl
-- ARGV[1] now, unix ms, or ''     ARGV[2] node id     ARGV[3] lease life, ms    ARGV[4] host
-- ARGV[5] 1: take nothing but this node's own (rule 7)
-- ARGV[6] 1: take over nothing that was not released (rule 8); 2: take over anything (alone with the store)
-- ARGV[7] time the node expects, unix ms, or ''; ARGV[8] ms it may be off
-- ARGV[9] ms from now to the end of the wait of rule 7, may be negative, or ''
-- ARGV[10] ms from now back to the last doubt about the clock, <= 0, or ''
-- Returns {'ok', now, token, next start in ms, hold in ms, paused, throttle} or
--         {'held', now, ms until expiry}, {'quarantine', now}, {'clock', now}.
local slot = KEYS[1]
local nf, nc = clock(ARGV[1])
local node, ttl, host = ARGV[2], tonumber(ARGV[3]), ARGV[4]
if ARGV[7] ~= '' and math.abs(nf - tonumber(ARGV[7])) > tonumber(ARGV[8]) then
  return {'clock', nf}
end
local m = call('HMGET', slot, 'tok', 'exp', 'ttl', 'next', 'wait', 'gap', 'epoch', 'hold', 'holdfor', 'paused', 'st')
local tok, exp = m[1] or '', tonumber(m[2] or 0)
local mine = tok ~= '' and sub(tok, 1, #node + 1) == node .. '.'
if tok ~= '' and not mine and ARGV[6] ~= '2' then
  local most = nc + tonumber(m[3] or ttl)
  if exp > most then -- the clock went back: nobody is given more than one life
    exp = most
    call('HSET', slot, 'exp', exp)
  end
  if exp > nf then return {'held', nf, exp - nf} end
  if ARGV[6] == '1' then return {'quarantine', nf} end
end
if not mine and ARGV[5] == '1' then return {'quarantine', nf} end

local was = tonumber(m[4] or 0)
local wait, gap = tonumber(m[5] or 0), tonumber(m[6] or 0)
local next = was
if next > nc + wait then next = nc + wait end -- the clock went back
if m[4] and ARGV[10] ~= '' then next = math.max(next, nc + tonumber(ARGV[10]) + wait) end
if m[4] and ARGV[9] ~= '' then next = math.max(next, nc + tonumber(ARGV[9]) + gap) end
if tok ~= '' then next = math.max(next, nc + gap) end -- not released: when it last sent is unknown
local epoch = math.max(tonumber(m[7] or 0) + 1, nf) -- rule 6
local new = string.format('%s.%.0f', node, epoch)
exp = nc + ttl
if next ~= was then
  call('HSET', slot, 'tok', new, 'epoch', epoch, 'exp', exp, 'ttl', ttl, 'next', next, 'wait', math.max(next - nc, 0))
else
  call('HSET', slot, 'tok', new, 'epoch', epoch, 'exp', exp, 'ttl', ttl)
end
for i = 2, #KEYS do call('ZADD', KEYS[i], 'XX', exp, host) end
local hold = math.min(tonumber(m[8] or 0) - nf, tonumber(m[9] or 0))
return {'ok', nf, new, next - nf, hold, m[10] or '', m[11] or ''}
