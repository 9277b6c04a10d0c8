-- Completes a record in a field. Every first call of a step comes here, so it does no more than it must, and stands by
-- itself.
--
-- KEYS     the entity
-- ARGV     '1p ' and the token · the completed record · how long to keep it in ms, '' for ever ·
--          'result' if the second is the result alone, and the rest of the record is to be kept, and where the end is to be
--          told: the command for that, and the channel; none of these three for the usual call · the field
-- returns  1 held · 0 absent · the record that stands instead
local key, call, field, kept = KEYS[1], redis.call, ARGV[#ARGV], ARGV[3]
local value = call('HGET', key, field)
if not value then
  return 0
end
local now = call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local time, at = string.match(value, '^until=(%d+) ()')
if not time then
  at = string.match(value, '^until=forever ()')
  if not at then
    return '?'
  end
elseif tonumber(time) <= now then
  return 0
end

local fields_expire = (redis.REDIS_VERSION_NUM or 0) >= 0x00070400 or (redis.VALKEY_VERSION_NUM or 0) >= 0x00090000
local standing = string.sub(value, at, at + 24)
if standing ~= ARGV[1] then
  if standing ~= '1c' .. string.sub(ARGV[1], 3) then
    return string.sub(value, at)
  end
  -- Written again as it is, for those who wait until replicas have it.
  call('HSET', key, field, value)
  if time and fields_expire then
    redis.pcall('HPEXPIRE', key, time - now, 'FIELDS', '1', field)
  end
  return 1
end
local completed = ARGV[2]
local usual = #ARGV == 4
if not usual and ARGV[4] == 'result' then
  local tail = string.find(value, ' lease=', at + 25, true)
  if not tail then
    return string.sub(value, at)
  end
  completed = '1c' .. string.sub(value, at + 2, tail) .. completed
end
if kept == '' then
  call('HSET', key, field, 'until=forever ' .. completed)
  call('PERSIST', key)
else
  call('HSET', key, field, 'until=' .. now + kept .. ' ' .. completed)
  call('PEXPIRE', key, kept, 'GT')
  if fields_expire then
    redis.pcall('HPEXPIRE', key, kept, 'FIELDS', '1', field)
  end
end
if not usual and ARGV[5] ~= '' then
  -- Where it is not allowed, waiters poll.
  redis.pcall(ARGV[5], ARGV[6], 'completed')
end
return 1
