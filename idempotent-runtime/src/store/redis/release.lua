-- Gives a claim back after its run.
--
-- KEYS     the record
-- ARGV     token · 'failed' or 'given-up' · the error · how long, in ms, an absent record is kept out
-- returns  1 held · 0 lost
local key, token = KEYS[1], ARGV[1]
local record = redis.call('GET', key)
if not record then
  -- The call's own late claim must not come alive.
  redis.call('SET', key, '1f ' .. token .. '#0@- - failed: ' .. ARGV[3], 'PX', ARGV[4])
  return 1
end
if string.sub(record, 4, 25) ~= token then
  return 0
end
local state = string.sub(record, 1, 3)
if state == '1f ' or state == '1g ' then
  return 1
elseif state ~= '1p ' then
  return 0
end

local claim, times, retention, found = string.match(record, '^1p (.-)( lease=%d+/(%d+)) %l+ (.*)$')
if not claim then
  return 0
elseif ARGV[2] == 'failed' then
  record = '1f ' .. claim .. ' failed: ' .. ARGV[3]
else
  record = '1g ' .. claim .. times .. ' begun ' .. found
end
redis.call('SET', key, record, 'PX', retention)
return 1
