-- The string layout: a record is the value of its key, and is kept as long as the key.
--
-- KEYS     the record
local key = KEYS[1]

-- The record; false where there is none.
local function get()
  return redis.call('GET', key)
end

-- Writes the record, to be kept for so many ms from now, '' for ever.
local function put(record, kept)
  if kept == '' then
    redis.call('SET', key, record)
  else
    redis.call('SET', key, record, 'PX', kept)
  end
end

-- Keeps a record that stands for so many ms from now.
local function keep(_, kept)
  redis.call('PEXPIRE', key, kept)
end

-- Removes the record.
local function drop()
  redis.call('DEL', key)
end

-- For how many ms it is still kept; -1 for ever.
local function left()
  return redis.call('PTTL', key)
end

