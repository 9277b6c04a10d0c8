-- Looks at a record, and at how long it is still kept.
--
-- KEYS     the record
-- returns  the record, nothing where there is none · what is left of its expiry in ms, -1 for ever
return {redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1])}
