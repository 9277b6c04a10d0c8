-- Gives a claim back: after its run, or without one.
--
-- ARGV     token · 'failed', 'given-up' or 'put-back' · the error · how long, in ms, a record that counts no run is kept ·
--          the result of the record that was superseded, '' for none · how long to keep that in ms, '' for ever · the
--          token that it shall have · the command that tells the end, '' for none · its channel
-- returns  1 held · 0 lost
local token, how, message, briefly, superseded, kept_superseded, its_token, publish, channel = unpack(ARGV)

local function write(record, kept)
  put(record, kept)
  if publish ~= '' then
    -- Where it is not allowed, waiters poll.
    redis.pcall(publish, channel, how)
  end
  return 1
end

local record = get()
if not record then
  -- The call's own late claim must not come alive.
  return write('1f ' .. token .. '#0@- - failed: ' .. message, briefly)
elseif string.sub(record, 4, 25) ~= token then
  return 0
end
local state = string.sub(record, 1, 3)
if how ~= 'put-back' and (state == '1f ' or state == '1g ') then
  return 1
elseif state ~= '1p ' then
  return 0
end
local counts, who, times, retention, held, mark, found, after =
  string.match(record, '^([#^%d]*)(@%S+ %S+)( lease=%d+/(%d+)/?(%d*)) (%l+) ([%l-]+)()', 26)
if not counts then
  return 0
end
held = held ~= '' and held or retention

if how ~= 'put-back' and mark == 'begun' then
  if how == 'failed' then
    return write('1f ' .. token .. counts .. who .. ' failed: ' .. message, retention)
  end
  return write('1g ' .. string.sub(record, 4), held)
end

-- Nothing has run under this claim: back to what it found. What stays of its token keeps its own late claim from coming
-- alive.
local attempt = (tonumber(string.match(counts, '^#(%d+)')) or 1) - 1
local own = token .. '#' .. attempt .. (string.match(counts, '%^%d+$') or '') .. who
local previous = string.match(record, '^|(.*)$', after)
if previous and found == 'after-failed' then
  return write('1f ' .. own .. ' failed: ' .. previous, retention)
elseif previous and found == 'after-completed' and superseded ~= '' then
  return write('1c ' .. its_token .. string.sub(previous, 26) .. superseded, kept_superseded)
elseif previous and (found == 'after-lapsed' or found == 'after-begun') then
  -- In progress as it was, and lapsed a moment ago, by its own lease and retention.
  local its_lease, kept, its_held, its_mark, its_found =
    string.match(previous, ' lease=(%d+)/(%d+)/?(%d*) (%l+) ([%l-]+)', 26)
  if its_lease then
    if its_held ~= '' and (its_mark == 'begun' or its_found == 'after-begun') then
      kept = its_held
    end
    return write(previous, string.format('%.0f', math.max(kept - its_lease, 1)))
  end
end
if found == 'after-begun' then
  -- The run that it had found is kept no more, and nobody knows its end: this record stands for it.
  return write('1g ' .. own .. times .. ' begun after-begun', held)
end
return write('1f ' .. own .. ' failed: ', attempt > 0 and retention or briefly)
