-- Who asked for the immediate deletion, as `<type>/<id>`; null for a queued one, and where a gateway of
-- release 0.1.0 passed it on.
alter table accounts add column deletion_created_by text;
-- How many of the service's own tries in a row booked none of the last events of an account that is being deleted.
alter table accounts add column deletion_stalls integer not null default 0;
