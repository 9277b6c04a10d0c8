-- Completes a record that `take` has claimed a moment ago. Every first call of a step comes here, so it does no more than
-- it must, and what it must not do itself the client has done: the new text is whole, with its time.
--
-- KEYS     the entity
-- ARGV     '1p ' and the token · the completed record, after the time until which it is kept · for how many ms that is, ''
--          for ever · 'kept' where the claim has made the Hash last so long already · the field
-- returns  1 held · 0 where it is not as it was taken
local key, call, field = KEYS[1], redis.call, ARGV[5]
local value = call('HGET', key, field)
-- A time has thirteen digits, until the year 2286. Where it has not, somebody else decides.
if not value or string.sub(value, 21, 45) ~= ARGV[1] then
  return 0
end
call('HSET', key, field, ARGV[2])
if ARGV[3] == '' then
  call('PERSIST', key)
  return 1
end
if ARGV[4] == '' then
  call('PEXPIRE', key, ARGV[3], 'GT')
end
if (redis.REDIS_VERSION_NUM or 0) >= 0x00070400 or (redis.VALKEY_VERSION_NUM or 0) >= 0x00090000 then
  redis.pcall('HPEXPIRE', key, ARGV[3], 'FIELDS', '1', field)
end
return 1
