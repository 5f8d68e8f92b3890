-- When the account was created on its trading server. null: release 0.1.0 booked the creation.
alter table ledger_accounts add column opened_at timestamptz;

-- Daily digests: the count, sum and hash of the transactions of an account on one day (UTC), and
-- its balance at the end of the day. An account has a digest for each day on which it exists, also
-- for days without a transaction.
create table transaction_digests (
  server_id uuid not null,
  day date not null,
  account_number text not null,
  currency text not null,
  transaction_count integer not null check (transaction_count >= 0),
  amount_minor bigint not null,
  hash bytea not null check (length(hash) = 32),
  closing_balance_minor bigint not null,
  -- All transactions up to this sequence belong to this day or to an earlier one. Late records do
  -- not change this, because they get higher sequences. So for the next day, only transactions
  -- after this sequence are read.
  settled_sequence bigint not null check (settled_sequence >= 0),
  revision integer not null check (revision >= 1),
  created_at timestamptz not null,
  revised_at timestamptz,
  primary key (server_id, day, account_number)
);

-- The number of digests of a server and a day. It is the total of the list of digests.
create table transaction_digest_counts (
  server_id uuid not null,
  day date not null,
  digests bigint not null,
  primary key (server_id, day)
);
