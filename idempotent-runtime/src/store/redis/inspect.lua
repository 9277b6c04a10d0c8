-- Looks at a record, and at how long it is still kept.
--
-- returns  the record, nothing where there is none · what is left of its expiry in ms, -1 for ever
return {get(), left()}
