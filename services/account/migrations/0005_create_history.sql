-- How far the trading events of an account are booked, and the resulting number of records of each
-- kind. An account without booked events has no row, unless it is being deleted. Booking, a rebuild
-- and a deletion lock the account's row in `accounts` first, so the row here needs no separate
-- lock.
create table feeds (
  server_id uuid not null,
  account_number text not null,
  -- Sequence of the last booked event, as the trading server numbers the account's events.
  -- 9007199254740991: the account is being deleted without its last events, because they could not
  -- be booked.
  booked_sequence bigint not null check (booked_sequence >= 0),
  order_count bigint not null check (order_count >= 0),
  position_count bigint not null check (position_count >= 0),
  open_position_count bigint not null check (open_position_count between 0 and position_count),
  deal_count bigint not null check (deal_count >= 0),
  primary key (server_id, account_number)
)
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Accounts whose next events are missing or cannot be booked yet, for example because the account
-- has no row in `accounts` yet.
create table feed_gaps (
  server_id uuid not null,
  account_number text not null,
  -- The gap is closed when all events up to this sequence are booked.
  needed_sequence bigint not null,
  attempts integer not null default 0,
  -- When the missing events are next read from the trading server's history.
  retry_at timestamptz not null default now(),
  primary key (server_id, account_number)
);
create index feed_gaps_due on feed_gaps (retry_at);

-- Orders, positions and deals. In each table the records of an account have numbers (`n`) from 1
-- without a gap, in the order of their creation. So a page of a list is a range of numbers, and the
-- number of records is the highest number. Both cost the same for any number of records.
create table orders (
  server_id uuid not null,
  account_number text not null,
  id text not null,
  n bigint not null check (n >= 1),
  symbol text not null,
  side text not null,
  order_type text not null,
  volume double precision not null,
  status text not null,
  created_at timestamptz not null,
  executed_at timestamptz,
  primary key (server_id, account_number, id),
  unique (server_id, account_number, n)
)
with (fillfactor = 80);
create index orders_time on orders (server_id, account_number, created_at, n);

create table positions (
  server_id uuid not null,
  account_number text not null,
  id text not null,
  n bigint not null check (n >= 1),
  order_id text not null,
  symbol text not null,
  side text not null,
  volume double precision not null,
  open_price double precision not null,
  status text not null check (status in ('open', 'closed')),
  opened_at timestamptz not null,
  closed_at timestamptz,
  primary key (server_id, account_number, id),
  unique (server_id, account_number, n),
  check ((status = 'closed') = (closed_at is not null))
)
with (fillfactor = 80);
create index positions_time on positions (server_id, account_number, opened_at, n);
create index positions_open on positions (server_id, account_number, n) where status = 'open';

create table deals (
  server_id uuid not null,
  account_number text not null,
  id text not null,
  n bigint not null check (n >= 1),
  order_id text not null,
  position_id text not null,
  symbol text not null,
  side text not null,
  kind text not null,
  volume double precision not null,
  price double precision not null,
  commission_minor bigint not null,
  realized_pnl_minor bigint not null,
  swap_minor bigint not null,
  executed_at timestamptz not null,
  primary key (server_id, account_number, id),
  unique (server_id, account_number, n)
);
create index deals_time on deals (server_id, account_number, executed_at, n);

-- The history that a rebuild has read from the trading server so far. When the history of an
-- account is complete, it replaces the account's rows in the tables above. The columns are the
-- same, because the same code writes both. The rows survive a restart of the rebuild.
create table staged_feeds (like feeds including all);
create table staged_orders (like orders including all);
create table staged_positions (like positions including all);
create table staged_deals (like deals including all);

-- Unfinished rebuilds of whole servers.
create table rebuilds (
  server_id uuid primary key,
  -- The accounts up to this account number are done.
  done_through text not null,
  started_at timestamptz not null default now()
);
