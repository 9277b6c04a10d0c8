-- Starts the lease again, whether it has lapsed or not, unless it was given up.
--
-- KEYS     the record
-- ARGV     token
-- returns  1 held · 0 lost
local record = redis.call('GET', KEYS[1])
if not record or string.sub(record, 1, 25) ~= '1p ' .. ARGV[1] then
  return 0
end
local retention, held, mark, found = string.match(record, ' lease=%d+/(%d+)/?(%d*) (%l+) ([%l-]+)', 26)
if not retention then
  return 0
end
if held ~= '' and (mark == 'begun' or found == 'after-begun') then
  retention = held
end
redis.call('PEXPIRE', KEYS[1], retention)
return 1
