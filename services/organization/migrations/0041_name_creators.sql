-- Who made the request that the entry bills, as `<type>/<id>`. null: the entry is of release 0.1.0,
-- a purchase, or the release of an orphan, or its request is unknown.
alter table credit_entries add column created_by text;
alter table credit_legs add column created_by text;
