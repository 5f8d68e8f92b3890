-- One row per trading account: how far its events are booked, and what that comes to.
create table ledger_accounts (
  server_id uuid not null,
  account_number text not null,
  organization_id uuid not null,
  currency text not null,
  -- Sequence of the last event of the trading server that is booked.
  last_sequence bigint not null check (last_sequence >= 0),
  balance_minor bigint not null,
  -- Sequence of the account's last transaction.
  transaction_sequence bigint not null check (transaction_sequence >= 0),
  primary key (server_id, account_number)
)
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

create table transactions (
  -- UUIDv5(event id, type): the same event can only ever make the same transaction.
  id uuid primary key,
  server_id uuid not null,
  account_number text not null,
  -- Per account from 1, without a gap.
  sequence bigint not null check (sequence >= 1),
  event_sequence bigint not null,
  type text not null check (type in
    ('initial_balance', 'deposit', 'withdrawal', 'realized_pnl', 'commission', 'swap', 'adjustment', 'reversal')),
  amount_minor bigint not null check (amount_minor <> 0),
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
  -- Every row is written by the statement that moves its account's row on, and those rows stay: a foreign key to them
  -- would check that again for a sixth of the statement's time.
  check ((type = 'reversal') = (reversal_of is not null))
);
-- A command moves money once on its server.
create unique index transactions_command on transactions (server_id, command_id) where command_id is not null;

-- Double entry: line 1 is the trading account, line 2 the organization's counter account of that type.
create table entries (
  transaction_id uuid not null,
  line smallint not null check (line in (1, 2)),
  ledger text not null,
  amount_minor bigint not null,
  primary key (transaction_id, line)
);

-- The entries of a transaction come in one statement, belong to it, and come to zero. Looked at once a statement: a
-- foreign key would be looked up, and its row locked, once an entry.
create function entries_must_balance() returns trigger language plpgsql as $$
begin
  if exists (select from added group by transaction_id having sum(amount_minor) <> 0 or count(*) <> 2) then
    raise exception 'the entries of a transaction must be two and come to zero' using errcode = 'check_violation';
  end if;
  if exists (select from added a where not exists (select from transactions t where t.id = a.transaction_id)) then
    raise exception 'entries of no transaction' using errcode = 'foreign_key_violation';
  end if;
  return null;
end
$$;
create trigger entries_balance after insert on entries referencing new table as added
  for each statement execute function entries_must_balance();

-- What is booked is never changed, only reversed.
create function booked_rows_stay() returns trigger language plpgsql as $$
begin
  raise exception 'no % of rows of %', lower(tg_op), tg_table_name using errcode = 'check_violation';
end
$$;
create trigger transactions_stay before update or delete or truncate on transactions
  for each statement execute function booked_rows_stay();
create trigger ledger_accounts_stay before delete or truncate on ledger_accounts
  for each statement execute function booked_rows_stay();
create trigger entries_stay before update or delete or truncate on entries
  for each statement execute function booked_rows_stay();

-- Accounts of which an event was seen whose predecessors are not booked yet.
create table ledger_gaps (
  server_id uuid not null,
  account_number text not null,
  -- Booked up to here the gap is closed.
  needed_sequence bigint not null,
  attempts integer not null default 0,
  retry_at timestamptz not null default now(),
  primary key (server_id, account_number)
);
create index ledger_gaps_due on ledger_gaps (retry_at);
