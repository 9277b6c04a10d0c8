-- Claims a record where there is none, or shows the one that stands: for a field what `SET … NX GET` is for a key.
--
-- ARGV     the claim · how long to keep it in ms
-- returns  nothing where it is claimed · the record that stands
local record = get()
if record then
  return record
end
put(ARGV[1], ARGV[2])
return false
