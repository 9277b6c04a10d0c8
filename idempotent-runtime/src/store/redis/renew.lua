-- Starts the lease again, whether it has lapsed or not, unless it was given up.
--
-- ARGV     token
-- returns  1 held · 0 lost
local record = get()
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
keep(record, retention)
return 1
