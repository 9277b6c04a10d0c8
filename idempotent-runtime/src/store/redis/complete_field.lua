-- Completes a record in a field, whatever has become of it. Most are completed by `complete_taken`.
--
-- ARGV     '1p ' and the token · the completed record · how long to keep it in ms, '' for ever ·
--          'result' if the second is the result alone, and the rest of the record is to be kept, and where the end is to be
--          told: the command for that, and the channel; none of these three where nobody waits · the field
-- returns  1 held · 0 absent · the record that stands instead
local record = get()
if not record then
  return 0
end
local whole = #ARGV == 4
local standing = string.sub(record, 1, 25)
if standing == ARGV[1] then
  local completed = ARGV[2]
  if not whole and ARGV[4] == 'result' then
    local tail = string.find(record, ' lease=', 26, true)
    if not tail then
      return record
    end
    completed = '1c' .. string.sub(record, 3, tail) .. completed
  end
  put(completed, ARGV[3])
  if not whole and ARGV[5] ~= '' then
    -- Where it is not allowed, waiters poll.
    redis.pcall(ARGV[5], ARGV[6], 'completed')
  end
  return 1
elseif standing == '1c' .. string.sub(ARGV[1], 3) then
  -- Written again as it is, for those who wait until replicas have it.
  put(record, kept_until and kept_until - now or '')
  return 1
end
return record
