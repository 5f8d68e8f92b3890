-- How far the events of an account are booked, and how many records that came to. Booking, rebuilding and deleting lock
-- the account's row of `accounts` first, so this row needs no lock of its own.
create table feeds (
  server_id uuid not null,
  account_number text not null,
  -- Sequence of the trading server's last event that is booked.
  booked_sequence bigint not null check (booked_sequence >= 0),
  order_count bigint not null check (order_count >= 0),
  position_count bigint not null check (position_count >= 0),
  open_position_count bigint not null check (open_position_count between 0 and position_count),
  deal_count bigint not null check (deal_count >= 0),
  primary key (server_id, account_number)
)
with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05);

-- Accounts of which an event was seen whose predecessors are not booked yet, or which is not known here yet.
create table feed_gaps (
  server_id uuid not null,
  account_number text not null,
  -- Booked up to here the gap is closed.
  needed_sequence bigint not null,
  attempts integer not null default 0,
  retry_at timestamptz not null default now(),
  primary key (server_id, account_number)
);
create index feed_gaps_due on feed_gaps (retry_at);

-- The records of an account are numbered by kind, from 1 without a gap, in the order in which they came into being. So a
-- page of the list is a range of numbers, and their count is the last number: neither depends on how many there are.
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

-- What a rebuild has read from the trading server so far, account by account, until it takes the place of the rows
-- above. The same shapes: both are written by the same code. Stays over a restart of the rebuild.
create table staged_feeds (like feeds including all);
create table staged_orders (like orders including all);
create table staged_positions (like positions including all);
create table staged_deals (like deals including all);

-- Rebuilds of whole servers that have not ended: the accounts up to this number are done.
create table rebuilds (
  server_id uuid primary key,
  done_through text not null,
  started_at timestamptz not null default now()
);
