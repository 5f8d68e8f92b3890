-- The stored minutes: one row for each account and each minute in which the account changed, with
-- the last sample of the minute. Rows are never updated. There is a partition for each day (UTC),
-- so the rows of an old day are dropped as a whole table. Amounts are in minor units.
create table account_metric_snapshots (
  server_id uuid not null,
  account_number text not null,
  -- The start of the minute.
  measured_at timestamptz not null,
  -- Sequence of the sample. The event id of the sample is derived from it and the account.
  sequence bigint not null,
  balance_minor bigint not null,
  equity_minor bigint not null,
  margin_minor bigint not null,
  free_margin_minor bigint not null,
  margin_level double precision not null,
  -- Both drawdowns are in percent.
  daily_drawdown double precision not null,
  total_drawdown double precision not null,
  account_status text not null,
  created_at timestamptz not null,
  primary key (server_id, account_number, measured_at)
) partition by range (measured_at);
create index account_metric_snapshots_of_server
  on account_metric_snapshots (server_id, measured_at desc, account_number);

-- The state from which a process continues with the snapshots of an account: the newest sample that
-- the stored minutes include, and the values from which the next drawdown is computed. Written in
-- the transaction that stores the minutes.
create table account_states (
  server_id uuid not null,
  account_number text not null,
  -- Sequence of this sample.
  sequence bigint not null,
  -- The header `to` of this sample: the sample includes the valuations of the account up to this
  -- position in `trading.valuations`.
  valuations_to bigint not null,
  equity_minor bigint not null,
  -- The day (UTC) of this sample, the equity at the start of the day, and the lowest equity since
  -- then.
  day date not null,
  day_start_minor bigint not null,
  day_low_minor bigint not null,
  -- The highest equity ever, and the lowest equity since then.
  peak_minor bigint not null,
  low_minor bigint not null,
  primary key (server_id, account_number)
) with (fillfactor = 70);

-- The status of each account, from `account.events`. A snapshot of an account without a row gets
-- the status `active`.
create table account_statuses (
  server_id uuid not null,
  account_number text not null,
  version integer not null,
  status text not null,
  primary key (server_id, account_number)
) with (fillfactor = 70);

-- Deleted accounts. Nothing more is stored for them: writers of the other tables skip these
-- accounts.
create table deleted_accounts (
  server_id uuid not null,
  account_number text not null,
  deleted_at timestamptz not null,
  primary key (server_id, account_number)
);

-- Creates the partition of a day unless it exists. The partition is created as a separate table and
-- then attached, because `create table ... partition of` would block readers and writers of the
-- parent table.
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

-- Drops the partitions of the days before `first_kept`, and returns their number.
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
