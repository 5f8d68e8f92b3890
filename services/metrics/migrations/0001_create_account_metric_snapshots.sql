-- One row per account and minute in which it changed: the minute's last sample. Rows never change. Partitioned by day, so that
-- what is older than it is kept goes without touching the rest.
create table account_metric_snapshots (
  server_id uuid not null,
  account_number text not null,
  -- Rounded down to the minute.
  measured_at timestamptz not null,
  -- Of the live sample; its event id follows from it.
  sequence bigint not null,
  balance_minor bigint not null,
  equity_minor bigint not null,
  margin_minor bigint not null,
  free_margin_minor bigint not null,
  margin_level double precision not null,
  -- Percent.
  daily_drawdown double precision not null,
  total_drawdown double precision not null,
  account_status text not null,
  created_at timestamptz not null,
  primary key (server_id, account_number, measured_at)
) partition by range (measured_at);
create index account_metric_snapshots_of_server
  on account_metric_snapshots (server_id, measured_at desc, account_number);

-- How far the samples of an account are in its snapshots, and what the next drawdown is reckoned from. Written with the rows.
create table account_states (
  server_id uuid not null,
  account_number text not null,
  sequence bigint not null,
  -- Header `to` of that sample.
  valuations_to bigint not null,
  equity_minor bigint not null,
  -- The server's day (UTC) of that sample, the equity at its start and the lowest since.
  day date not null,
  day_start_minor bigint not null,
  day_low_minor bigint not null,
  -- The highest equity ever, and the lowest since.
  peak_minor bigint not null,
  low_minor bigint not null,
  primary key (server_id, account_number)
) with (fillfactor = 70);

-- What `account.events` says; an account that is not in it is active.
create table account_statuses (
  server_id uuid not null,
  account_number text not null,
  version integer not null,
  status text not null,
  primary key (server_id, account_number)
) with (fillfactor = 70);

-- Accounts that are gone for good. Nothing is stored of them any more.
create table deleted_accounts (
  server_id uuid not null,
  account_number text not null,
  deleted_at timestamptz not null,
  primary key (server_id, account_number)
);

-- Makes the partition of a day unless it is there. Attaching, unlike creating in place, lets readers and writers go on.
create function keep_snapshot_day(day date) returns void language plpgsql as $$
declare
  name text := 'account_metric_snapshots_' || to_char(day, 'YYYYMMDD');
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' snapshot days'));
  if to_regclass(name) is not null then return; end if;
  execute format('create table %I (like account_metric_snapshots including all)', name);
  execute format('alter table account_metric_snapshots attach partition %I for values from (%L) to (%L)', name,
    day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
end $$;

-- Drops the partitions of the days before `first_kept`; returns how many.
create function drop_snapshot_days(first_kept date) returns integer language plpgsql as $$
declare
  partition regclass;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' snapshot days'));
  for partition in
    select inhrelid::regclass from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'account_metric_snapshots'::regclass
      and relname < 'account_metric_snapshots_' || to_char(first_kept, 'YYYYMMDD')
  loop
    execute format('drop table %s', partition);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;
