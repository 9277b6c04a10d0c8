-- Undoes a claim whose body was never polled: the record goes back to what the claim found.
--
-- KEYS     the record
-- ARGV     token · how long, in ms, a record that was absent is kept out · the result of the record that was
--          superseded, '' for none · how long to keep that in ms, '' for ever · the token that it shall have
-- returns  1 held · 0 lost
local key, token = KEYS[1], ARGV[1]

local function write(record, kept)
  if kept == '' then
    redis.call('SET', key, record)
  else
    redis.call('SET', key, record, 'PX', kept)
  end
  return 1
end

local record = redis.call('GET', key)
if not record then
  return write('1f ' .. token .. '#0@- - failed: ', ARGV[2])
end
if string.sub(record, 1, 25) ~= '1p ' .. token then
  return 0
end
local counts, who, retention, found, after =
  string.match(record, '^([#^%d]*)(@%S+ %S+) lease=%d+/(%d+) %l+ ([%l-]+)()', 26)
if not counts then
  return 0
end

-- Failed, and of this token: its own late claim must not come alive. This run does not count.
local function fail(message, kept)
  local attempt = (tonumber(string.match(counts, '^#(%d+)')) or 1) - 1
  local fence = string.match(counts, '%^%d+$') or ''
  return write('1f ' .. token .. '#' .. attempt .. fence .. who .. ' failed: ' .. message, kept)
end

local previous = string.match(record, '^|(.*)$', after)
if previous and found == 'after-failed' then
  return fail(previous, retention)
elseif previous and found == 'after-completed' and ARGV[3] ~= '' then
  return write('1c ' .. ARGV[5] .. string.sub(previous, 26) .. ARGV[3], ARGV[4])
elseif previous and (found == 'after-lapsed' or found == 'after-begun') then
  -- In progress as it was, and lapsed a moment ago, by its own lease and retention.
  local its_lease, its_retention = string.match(previous, ' lease=(%d+)/(%d+) ', 26)
  if its_lease then
    return write(previous, string.format('%.0f', math.max(its_retention - its_lease, 1)))
  end
end
return fail('', ARGV[2])
