-- The caller of the immediate deletion, as `<type>/<id>`. Null: the account is not being deleted,
-- the deletion was queued, or a gateway of release 0.1.0 forwarded the request without its caller.
alter table accounts add column deletion_created_by text;
-- The service itself resumes an unfinished deletion. This is the number of its attempts in a row
-- that failed to book the account's last events, and booked none of them.
alter table accounts add column deletion_stalls integer not null default 0;
