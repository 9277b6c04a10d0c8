-- Changes a record by a person's hand, if it still is as it was seen.
--
-- ARGV     state and token as seen · the attempt as seen · 'begun' or 'claimed' as seen, '' where not in progress ·
--          'resolve', 'fail', 'remove', or 'break' to remove a live run's too · the result, or the error · for a resolved
--          record: how long to keep it in ms, '' for ever; for a failed one: a token that no call has · its attempt · the
--          command that tells the end, '' for none · its channel
-- returns  1 done · 0 moved
local seen, seen_attempt, seen_mark, change, content, extra, attempt, publish, channel = unpack(ARGV)

local record = get()
if not record or string.sub(record, 1, 25) ~= seen then
  return 0
end
local counts, who, body = string.match(record, '^([#^%d]*)(@%S+ %S+ )()', 26)
if not counts or (string.match(counts, '^#(%d+)') or '1') ~= seen_attempt then
  return 0
end

local retention
if seen_mark ~= '' then
  local lease, its_retention, held, mark, found =
    string.match(record, '^lease=(%d+)/(%d+)/?(%d*) (%l+) ([%l-]+)', body)
  if mark ~= seen_mark then
    return 0
  end
  retention = its_retention
  local kept = held ~= '' and (mark == 'begun' or found == 'after-begun') and held or retention
  -- A person changes nothing of a live run.
  local rest = left()
  if change ~= 'break' and (rest < 0 or string.sub(record, 2, 2) == 'p' and kept - rest < tonumber(lease)) then
    return 0
  end
end

-- Where it is not allowed, waiters poll.
local function tell()
  if publish ~= '' then
    redis.pcall(publish, channel, change)
  end
  return 1
end

if change == 'remove' or change == 'break' then
  drop()
  return tell()
end

if change == 'resolve' then
  put('1c' .. string.sub(record, 3, body - 1) .. content, extra)
  return tell()
end

record = '1f ' .. extra .. '#' .. attempt .. (string.match(counts, '%^%d+$') or '') .. who .. 'failed: ' .. content
if not retention then
  local rest = left()
  retention = rest < 0 and '' or math.max(rest, 1)
end
put(record, retention)
return tell()
