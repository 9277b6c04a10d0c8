-- Marks a live claim as begun, and starts its lease again.
--
-- KEYS     the record
-- ARGV     token
-- returns  1 held · 0 lost
local key = KEYS[1]
local record = redis.call('GET', key)
if not record or string.sub(record, 1, 25) ~= '1p ' .. ARGV[1] then
  return 0
end
local head, lease, retention, held, mark, found = string.match(record, '^(.- lease=(%d+)/(%d+)/?(%d*)) (%l+) (.*)$')
if not head then
  return 0
end
held = held ~= '' and held or retention
local kept = (mark == 'begun' or string.sub(found, 1, 11) == 'after-begun') and held or retention
local left = redis.call('PTTL', key)
if left < 0 or kept - left >= tonumber(lease) then
  return 0
end
redis.call('SET', key, head .. ' begun ' .. found, 'PX', held)
return 1
