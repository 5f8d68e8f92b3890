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
  unique (server_id, account_number)
);

-- The list of a server's accounts, newest first.
create index accounts_newest on accounts (server_id, created_at desc, account_number desc) where status <> 'deleted';
