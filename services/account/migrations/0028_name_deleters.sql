-- Who asked for the immediate deletion, as `<type>/<id>`; null for a queued one, and where a gateway of
-- release 0.1.0 passed it on.
alter table accounts add column deletion_created_by text;
