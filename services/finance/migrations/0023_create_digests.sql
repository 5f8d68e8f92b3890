-- When the account was opened on its trading server; null where an earlier release booked it.
alter table ledger_accounts add column opened_at timestamptz;

-- The digest of the transactions of an account on a day in UTC, and its balance at the end of the
-- day. Every account has one for each day, also without a transaction.
create table transaction_digests (
  server_id uuid not null,
  day date not null,
  account_number text not null,
  currency text not null,
  transaction_count integer not null check (transaction_count >= 0),
  amount_minor bigint not null,
  hash bytea not null check (length(hash) = 32),
  closing_balance_minor bigint not null,
  -- All transactions up to this sequence belong to this day or to an earlier one, for good. So the
  -- transactions of later days are read from here.
  settled_sequence bigint not null check (settled_sequence >= 0),
  revision integer not null check (revision >= 1),
  created_at timestamptz not null,
  revised_at timestamptz,
  primary key (server_id, day, account_number)
);

-- The number of digests of a server and a day: the total of the list.
create table transaction_digest_counts (
  server_id uuid not null,
  day date not null,
  digests bigint not null,
  primary key (server_id, day)
);
