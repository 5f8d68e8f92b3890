-- Who asked for the transaction, as `<type>/<id>`; null for what the market or a trader did, and for
-- rows of release 0.1.0.
alter table transactions add column created_by text;
