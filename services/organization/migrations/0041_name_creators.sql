-- Who asked for what an entry bills, as `<type>/<id>`; null in entries of release 0.1.0, of purchases,
-- and of reservations that nobody came back for.
alter table credit_entries add column created_by text;
alter table credit_legs add column created_by text;
