-- Trading accounts. The row is inserted by the first attempt of the create command, and never
-- deleted: the account number of a deleted account must not be assigned again.
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
  -- Number of the account's newest event in the topic account.events. Events of all kinds are
  -- numbered together, from 1 without a gap. 0: the account has no event yet.
  fact_sequence bigint not null default 0,
  trading_password_changed_at timestamptz,
  investor_password_changed_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  activated_at timestamptz,
  disabled_at timestamptz,
  archived_at timestamptz,
  -- Id of the command that was last started on the account, which can be its creation. The
  -- command's row in command_inbox shows whether the command is still open.
  running_command uuid,
  -- When the service resumes the unfinished deletion of the account. Null: the account is not being
  -- deleted.
  deletion_due_at timestamptz,
  -- How often the service has resumed the deletion. The pause grows with this number.
  deletion_attempts integer not null default 0,
  -- How often the trading server rejected the deletion. A rejection is final for its reference, so
  -- the reference of the next attempt is derived from this number.
  deletion_refusals integer not null default 0,
  check ((status = 'deleting') = (deletion_due_at is not null)),
  unique (server_id, account_number)
)
with (fillfactor = 90);

-- For the lists of a server's accounts, newest first: all accounts, and the accounts of one status.
-- The second index also finds the few accounts of a rare status without reading all accounts.
create index accounts_newest on accounts (server_id, created_at desc, account_number desc) where status <> 'deleted';
create index accounts_newest_of_status on accounts (server_id, status, created_at desc, account_number desc)
  where status <> 'deleted';

-- Finds the unfinished deletions that are due.
create index accounts_deleting on accounts (deletion_due_at) where status = 'deleting';

-- The number of accounts of a server in a status is the sum of `accounts` over all rows with this
-- server and status. A transaction that changes the status of accounts inserts a row with the
-- difference. It merges this row with all such rows that no other transaction has locked. So no
-- transaction waits for another, and there are few rows. Deleted accounts are not counted.
create table account_counts (
  server_id uuid not null,
  status text not null,
  n bigint generated always as identity,
  accounts bigint not null,
  primary key (server_id, status, n)
);
