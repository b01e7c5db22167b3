-- evict: take members from the list whose STRING is gone, still, at this moment.
-- KEYS[1] nodes ZSET member id -> joined, unix ms; their STRINGs are read
-- ARGV[1] now or ''  ARGV[2] born, as last returned  ARGV[3] unix ms after which the call is too late  ARGV[4..] ids
-- Returns {'ok' | 'late', now, born, id...}: those of the ids that are not in the list (any more); none
-- when the call is late or the list another than the caller's.
local nodes = KEYS[1]
local now = clock(ARGV[1])
local b = call('ZSCORE', nodes, born) or '0'
if b ~= ARGV[2] or now[1] > tonumber(ARGV[3]) then return {'late', now[1], b} end
local out = {'ok', now[1], b}
for i = 4, #ARGV do
  if call('EXISTS', nodes .. ':' .. ARGV[i]) == 0 then
    call('ZREM', nodes, ARGV[i])
    out[#out + 1] = ARGV[i]
  end
end
return out
