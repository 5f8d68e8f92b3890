-- One row per trading account: how far its trading events are booked, and its balance.
create table ledger_accounts (
  server_id uuid not null,
  account_number text not null,
  organization_id uuid not null,
  currency text not null,
  -- Sequence of the last booked trading event. 0: none.
  last_sequence bigint not null check (last_sequence >= 0),
  balance_minor bigint not null,
  -- Sequence of the account's last transaction. 0: none.
  transaction_sequence bigint not null check (transaction_sequence >= 0),
  primary key (server_id, account_number)
)
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Transactions, in double-entry bookkeeping. A row moves its amount from the counter ledger to the
-- ledger of the account. So the two ledger entries of a transaction always sum to zero. They are
-- rows of the view `entries`: to store and check them in a table would cost as much as the rest of
-- a booking. There is no foreign key to `ledger_accounts`: the statement that inserts transactions
-- also updates the row of their account, and rows of `ledger_accounts` are never deleted. A foreign
-- key would check the row again, which is a sixth of the statement's time.
create table transactions (
  -- UUIDv5(event id, type): a trading event has at most one transaction of each type.
  id uuid primary key,
  server_id uuid not null,
  account_number text not null,
  -- Number of the transaction in its account: from 1, without a gap.
  sequence bigint not null check (sequence >= 1),
  event_sequence bigint not null,
  type text not null check (type in
    ('initial_balance', 'deposit', 'withdrawal', 'realized_pnl', 'commission', 'swap', 'adjustment', 'reversal')),
  amount_minor bigint not null check (amount_minor <> 0),
  -- The organization's ledger for this currency and type of transaction:
  -- `organization/<id>/<currency>/<type>`.
  counter_ledger text not null,
  balance_before_minor bigint not null,
  balance_after_minor bigint not null,
  description text,
  request_id text,
  command_id uuid,
  order_id text,
  position_id text,
  deal_id text,
  reversal_of uuid references transactions (id),
  recorded_at timestamptz not null,
  created_at timestamptz not null,
  unique (server_id, account_number, sequence),
  unique (server_id, account_number, event_sequence, type),
  check (balance_after_minor = balance_before_minor + amount_minor),
  check (type <> 'deposit' or amount_minor > 0),
  check (type <> 'withdrawal' or amount_minor < 0),
  check ((type = 'reversal') = (reversal_of is not null))
);
-- A command has at most one transaction on its server, so it moves money at most once.
create unique index transactions_command on transactions (server_id, command_id) where command_id is not null;

-- The ledger entries: line 1 is the ledger of the account, line 2 the counter ledger.
create view entries as
  select t.id as transaction_id, e.line, e.ledger, e.amount_minor
  from transactions t
  cross join lateral (values
    (1, 'account/' || t.server_id || '/' || t.account_number, t.amount_minor),
    (2, t.counter_ledger, -t.amount_minor)
  ) as e (line, ledger, amount_minor);

-- Transactions are never changed or deleted. Rows of `ledger_accounts` are never deleted.
create function booked_rows_stay() returns trigger language plpgsql as $$
begin
  raise exception 'no % of rows of %', lower(tg_op), tg_table_name using errcode = 'check_violation';
end
$$;
create trigger transactions_stay before update or delete or truncate on transactions
  for each statement execute function booked_rows_stay();
create trigger ledger_accounts_stay before delete or truncate on ledger_accounts
  for each statement execute function booked_rows_stay();

-- Accounts with a trading event that cannot be booked yet, usually because an earlier event is
-- missing.
create table ledger_gaps (
  server_id uuid not null,
  account_number text not null,
  -- The gap is closed once the account is booked up to this sequence of the trading server.
  needed_sequence bigint not null,
  attempts integer not null default 0,
  retry_at timestamptz not null default now(),
  primary key (server_id, account_number)
);
create index ledger_gaps_due on ledger_gaps (retry_at);
