-- One row per trading account, from the moment its creation is taken up; a deleted account keeps its row and number.
create table accounts (
  id uuid primary key,
  organization_id uuid not null,
  server_id uuid not null references servers,
  account_number text not null,
  account_name text not null,
  status text not null check (status in ('pending', 'active', 'failed', 'disabled', 'archived', 'deleting', 'deleted')),
  status_reason text,
  currency text not null,
  leverage integer not null,
  initial_balance_minor bigint not null check (initial_balance_minor >= 0),
  version integer not null default 1,
  -- The number of the account's last fact on account.events, of all kinds; no number is left out (decisions, 11).
  fact_sequence bigint not null default 0,
  trading_password_changed_at timestamptz,
  investor_password_changed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  activated_at timestamptz,
  disabled_at timestamptz,
  archived_at timestamptz,
  -- The command that was last begun on the account; whether it still runs is told by its row in the inbox.
  running_command uuid,
  -- Of an account that is being deleted: when the deletion is looked at again, and how often that was done.
  deletion_due_at timestamptz,
  deletion_attempts integer not null default 0,
  -- How often the trading server refused the deletion; each refusal is final for its reference, so the next has another.
  deletion_refusals integer not null default 0,
  check ((status = 'deleting') = (deletion_due_at is not null)),
  unique (server_id, account_number)
)
with (fillfactor = 90);

-- The list of a server's accounts, newest first; the second for one status, however rare.
create index accounts_newest on accounts (server_id, created_at desc, account_number desc) where status <> 'deleted';
create index accounts_newest_of_status on accounts (server_id, status, created_at desc, account_number desc)
  where status <> 'deleted';

-- Deletions that were begun and not yet ended.
create index accounts_deleting on accounts (deletion_due_at) where status = 'deleting';

-- How many accounts a server has in a status: the sum of `accounts` over the rows. Whoever moves accounts adds a row, and
-- takes in those rows that nobody else has at the moment, so there are few, and nobody waits for another.
create table account_counts (
  server_id uuid not null,
  status text not null,
  n bigint generated always as identity,
  accounts bigint not null,
  primary key (server_id, status, n)
);
