-- Completes a record. Every first call comes here, so it does no more than it must.
--
-- KEYS     the record
-- ARGV     '1p ' and the token · the completed record · how long to keep it in ms, '' for ever ·
--          'result' if the second is the result alone, and the rest of the record is to be kept · where the end is to be
--          told: the command for that, and the channel
-- returns  1 held · 0 absent · the record that stands instead
local key, call = KEYS[1], redis.call
if call('GETRANGE', key, '0', '24') == ARGV[1] then
  local record = ARGV[2]
  if ARGV[4] == 'result' then
    local standing = call('GET', key)
    local tail = standing:find(' lease=', 26, true)
    if not tail then
      return standing
    end
    record = '1c' .. standing:sub(3, tail) .. record
  end
  if ARGV[3] == '' then
    call('SET', key, record)
  else
    call('SET', key, record, 'PX', ARGV[3])
  end
  if (ARGV[5] or '') ~= '' then
    -- Where it is not allowed, waiters poll.
    redis.pcall(ARGV[5], ARGV[6], 'completed')
  end
  return 1
end

local record = call('GET', key)
if not record then
  return 0
end
if record:find('1c' .. ARGV[1]:sub(3), 1, true) == 1 then
  -- Written again as it is, for those who wait until replicas have it.
  call('SET', key, record, 'KEEPTTL')
  return 1
end
return record
