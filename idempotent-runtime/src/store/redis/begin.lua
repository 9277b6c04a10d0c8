-- Marks a live claim as begun, and starts its lease again.
--
-- ARGV     token
-- returns  1 held · 0 lost
local record = get()
if not record or string.sub(record, 1, 25) ~= '1p ' .. ARGV[1] then
  return 0
end
local head, lease, retention, held, mark, found = string.match(record, '^(.- lease=(%d+)/(%d+)/?(%d*)) (%l+) (.*)$')
if not head then
  return 0
end
held = held ~= '' and held or retention
local kept = (mark == 'begun' or string.sub(found, 1, 11) == 'after-begun') and held or retention
local rest = left()
if rest < 0 or kept - rest >= tonumber(lease) then
  return 0
end
put(head .. ' begun ' .. found, held)
return 1
