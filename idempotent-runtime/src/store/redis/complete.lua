-- Completes a record. Every first call comes here, so it does no more than it must.
--
-- KEYS     the record
-- ARGV     '1p ' and the token · the result · how long to keep it in ms, '' for ever
-- returns  1 held · 0 absent · the record that stands instead
local key, call = KEYS[1], redis.call
local record = call('GET', key)
if not record then
  return 0
end
if record:find(ARGV[1], 1, true) == 1 then
  local tail = record:find(' lease=', 26, true)
  if tail then
    record = '1c' .. record:sub(3, tail) .. ARGV[2]
    if ARGV[3] == '' then
      call('SET', key, record)
    else
      call('SET', key, record, 'PX', ARGV[3])
    end
    return 1
  end
end
if record:find('1c' .. ARGV[1]:sub(3), 1, true) == 1 then
  return 1
end
return record
