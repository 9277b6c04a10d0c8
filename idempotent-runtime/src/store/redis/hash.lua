-- The hash layout: a record is a field of its entity's Hash, after the time until which it is kept, in ms of the
-- server's clock:
--
--   until=1764586400000 1p TOKEN@OWNER …
--   until=forever 1c TOKEN@OWNER …
--
-- The Hash may be the application's own. So nothing but the field is changed, and of the key's expiry:
--
--   - it is set where the key is made here, and after that only made later;
--   - a Hash that has none gets none.
--
-- A field past its time counts as absent, whether the server has removed it (HPEXPIRE) or not.
--
-- KEYS     the entity
-- ARGV     what the script says, and after that the field
local key, field = KEYS[1], ARGV[#ARGV]
local now = redis.call('TIME')
now = now[1] * 1000 + math.floor(now[2] / 1000)
local fields_expire = (redis.REDIS_VERSION_NUM or 0) >= 0x00070400 or (redis.VALKEY_VERSION_NUM or 0) >= 0x00090000

-- Until when the record is kept that was read last; false for ever.
local kept_until = false

-- The record; false where there is none; what cannot be a record where somebody else has written.
local function get()
  local value = redis.call('HGET', key, field)
  if not value then
    return false
  end
  local time, at = string.match(value, '^until=(%d+) ()')
  if time then
    kept_until = tonumber(time)
    return kept_until > now and string.sub(value, at)
  elseif string.sub(value, 1, 14) == 'until=forever ' then
    kept_until = false
    return string.sub(value, 15)
  end
  return '?'
end

-- Writes the record, to be kept for so many ms from now, '' for ever.
local function put(record, kept)
  local left = redis.call('PTTL', key)
  if kept == '' then
    redis.call('HSET', key, field, 'until=forever ' .. record)
    if left >= 0 then
      redis.call('PERSIST', key)
    end
    return
  end
  redis.call('HSET', key, field, 'until=' .. now + kept .. ' ' .. record)
  if left == -2 or (left >= 0 and left < tonumber(kept)) then
    redis.call('PEXPIRE', key, kept)
  end
  if fields_expire then
    -- Spares memory, and nothing else: where it is not allowed, all stays the same.
    redis.pcall('HPEXPIRE', key, kept, 'FIELDS', '1', field)
  end
end

-- Keeps a record that stands for so many ms from now.
local keep = put

-- Removes the record, and nothing else of the Hash.
local function drop()
  redis.call('HDEL', key, field)
end

-- For how many ms it is still kept; -1 for ever.
local function left()
  return kept_until and kept_until - now or -1
end

