-- One row per server: how far the digests of its accounts are made. A process locks the row while
-- it makes or revises digests of the server, so only one process does so at a time.
create table digest_servers (
  server_id uuid primary key,
  -- The first day that gets digests, or whose digests are still kept.
  first_day date not null,
  -- The last day for which the digests of all accounts are made. Before `first_day`: there is none.
  made_through date not null,
  -- The digests of the next day are made for the accounts up to this number, inclusive. Empty: for
  -- no account.
  after_account text not null default ''
);

-- Notes of late records: transactions or deals that are booked on a later day than their own. A row
-- means that the account has a late record of `day`. The transaction that books the record inserts
-- the row. The row is deleted in the transaction that revises the digest, or when the digests of
-- the day are made.
create table late_records (
  id bigint generated always as identity primary key,
  server_id uuid not null,
  day date not null,
  account_number text not null
);
create index late_records_day on late_records (server_id, day, id);
create index late_records_account on late_records (server_id, account_number, day);
