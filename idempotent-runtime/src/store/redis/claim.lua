-- Claims a record, deciding on the server. The format of a record is written down in value.rs.
--
-- ARGV     token · owner · fingerprint, '-' for none · lease in ms · retention in ms · how long an open run is held in
--          ms · 'take-over' or 'hold' · how many runs may start, 0 for any number · the token that may be superseded, '' for none ·
--          'begun' or 'claimed' · 'fenced' or ''
-- returns  an answer · what is left of the lease in ms · the record that the answer is about
local token, owner, fingerprint, lease, retention, held, on_lapse, most, superseded, mark, fenced = unpack(ARGV)

local function acquire(attempt, last_fence, found)
  local claim = '1p ' .. token
  if attempt ~= 1 then
    claim = claim .. '#' .. attempt
  end
  if fenced ~= '' or last_fence then
    local now = redis.call('TIME')
    local fence = now[1] * 1000000 + now[2]
    if last_fence and last_fence >= fence then
      fence = last_fence + 1
    end
    claim = claim .. '^' .. string.format('%.0f', fence)
  end
  local times = ' lease=' .. lease .. '/' .. retention .. (held ~= retention and '/' .. held or '')
  claim = claim .. '@' .. owner .. ' ' .. fingerprint .. times .. ' ' .. mark .. ' ' .. found
  local is_open = mark == 'begun' or string.sub(found, 1, 11) == 'after-begun'
  put(claim, is_open and held or retention)
  return {'acquired', 0, claim}
end

local record = get()
if not record then
  return acquire(1, nil, 'new')
end

local state, holder, counts, other, body = string.match(record, '^1([pgfc]) ([%w_-]+)([#^%d]*)@%S+ ([%w_.-]+) ()')
if not state then
  return {'unreadable', 0, record}
end
local own = holder == token
local attempt = tonumber(string.match(counts, '^#(%d+)')) or 1
local last_fence = tonumber(string.match(counts, '%^(%d+)$'))
local exhausted = tonumber(most) > 0 and attempt >= tonumber(most)

if state == 'f' and string.sub(record, body, body + 7) == 'failed: ' then
  if own then
    return {'lost', 0, record}
  elseif exhausted then
    return {'exhausted', 0, record}
  end
  return acquire(attempt + 1, last_fence, 'after-failed|' .. string.sub(record, body + 8))
end

-- Fingerprints are compared where both sides have one, and both of the same version.
local mismatch = false
if not own and fingerprint ~= '-' and other ~= '-' and fingerprint ~= other then
  mismatch = 'mismatch'
  if (string.match(fingerprint, '^%d+%.') or '1.') ~= (string.match(other, '^%d+%.') or '1.') then
    mismatch = 'incomparable'
  end
end

if state == 'c' then
  if own then
    return {'completed', 0, record}
  elseif mismatch then
    return {mismatch, 0, record}
  elseif superseded == holder then
    return acquire(attempt + 1, last_fence, 'after-completed|' .. string.sub(record, 1, body - 1))
  end
  return {'completed', 0, record}
end

local its_lease, its_retention, its_held, its_mark, its_found, after =
  string.match(record, '^lease=(%d+)/(%d+)/?(%d*) (%l+) ([%l-]+)()', body)
if not its_lease then
  return {'unreadable', 0, record}
end
its_held = its_held ~= '' and its_held or its_retention
local its_kept = (its_mark == 'begun' or its_found == 'after-begun') and its_held or its_retention
local rest = left()
if rest < 0 then
  return {'persisted', 0, record}
end

if own then
  if state == 'g' then
    return {'lost', 0, record}
  end
  if mark == 'begun' and its_mark ~= 'begun' then
    record = string.sub(record, 1, after - #its_found - #its_mark - 2) .. 'begun ' .. string.sub(record, after - #its_found)
    put(record, its_held)
  else
    keep(record, its_kept)
  end
  return {'acquired', 0, record}
end

local remaining = math.min(its_lease - (its_kept - rest), tonumber(its_lease))
if mismatch then
  return {mismatch, 0, record}
elseif state == 'p' and remaining > 0 then
  return {'in-progress', remaining, record}
end

-- Lapsed. A claim that never began stands for the begun one that it had found: it must not hide it. What the one to be
-- put back had itself found is not kept: a chain of takeovers must not grow.
local run, begun = string.sub(record, 1, after - 1), its_mark == 'begun'
if not begun and its_found == 'after-begun' and string.sub(record, after, after) == '|' then
  run, begun = string.sub(record, after + 1), true
  attempt = tonumber(string.match(run, '^#(%d+)', 26)) or 1
end
local runs = begun and attempt or attempt - 1
if tonumber(most) > 0 and runs >= tonumber(most) then
  return {'exhausted', 0, run}
elseif begun and on_lapse == 'hold' then
  return {'abandoned', 0, run}
end
return acquire(runs + 1, last_fence, (begun and 'after-begun|' or 'after-lapsed|') .. run)
