-- How far the digests of a server's accounts are made. Whoever makes or revises digests of the
-- server locks its row.
create table digest_servers (
  server_id uuid primary key,
  -- The first day that still has digests.
  first_day date not null,
  -- The digests of all accounts are made up to this day, inclusive.
  made_through date not null,
  -- The next day is made up to this account number, inclusive.
  after_account text not null default ''
);

-- Records that were booked on a later day than the one they belong to. Each row is written in the
-- transaction that books the record, and deleted in the transaction that revises the digests.
create table late_records (
  id bigint generated always as identity primary key,
  server_id uuid not null,
  day date not null,
  account_number text not null
);
create index late_records_day on late_records (server_id, day, id);
create index late_records_account on late_records (server_id, account_number, day);
