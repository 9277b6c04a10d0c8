-- Claims a record in a field where there is none, or shows the one that stands: for a field what `SET … NX GET` is for a
-- key. Every first call of a step comes here, so it does no more than it must, and stands by itself.
--
-- KEYS     the entity
-- ARGV     the claim · how long to keep it in ms · and the Hash at the least, so that a completion need not lengthen that
--          · the field
-- returns  until when it is kept, in ms of the server's clock, where it is claimed · the record that stands
local key, call, kept, hash_kept, field = KEYS[1], redis.call, ARGV[2], ARGV[3], ARGV[4]
local now = call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local kept_until = now + kept
local claim = 'until=' .. kept_until .. ' ' .. ARGV[1]

if call('HSETNX', key, field, claim) == 0 then
  local value = call('HGET', key, field)
  local time, at = string.match(value, '^until=(%d+) ()')
  if not time then
    return string.match(value, '^until=forever (.*)$') or '?'
  elseif tonumber(time) > now then
    return string.sub(value, at)
  end
  call('HSET', key, field, claim)
end
-- Nothing is made longer where there is no expiry: the Hash is new, or nobody wants it to expire.
if call('PEXPIRE', key, hash_kept, 'GT') == 0 and call('HLEN', key) == 1 then
  call('PEXPIRE', key, hash_kept, 'NX')
end
if (redis.REDIS_VERSION_NUM or 0) >= 0x00070400 or (redis.VALKEY_VERSION_NUM or 0) >= 0x00090000 then
  redis.pcall('HPEXPIRE', key, kept, 'FIELDS', '1', field)
end
return kept_until
