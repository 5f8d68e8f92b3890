-- One row for all stored minutes of an account in one hour, for charts of up to 30 days. Reading
-- the minutes themselves is slow, because each minute of an account is on another page of its
-- table. The row of an hour is written together with the account's first minute of a later hour.
-- There is a partition for each day (UTC), kept as long as the partition with the minutes of this
-- day. Amounts are in minor units.
create table account_metric_hours (
  server_id uuid not null,
  account_number text not null,
  -- Start of the hour (UTC).
  hour timestamptz not null,
  -- Start of the first and of the last stored minute.
  first_at timestamptz not null,
  last_at timestamptz not null,
  -- Equity and balance at the end of the last minute.
  equity_minor bigint not null,
  balance_minor bigint not null,
  lowest_equity_minor bigint not null,
  highest_equity_minor bigint not null,
  -- The deepest fall of the equity within the hour, and the equity from which it fell.
  drawdown_minor bigint not null,
  drawdown_from_minor bigint not null,
  primary key (server_id, account_number, hour)
) partition by range (hour);

-- The functions below use a fixed search_path: a caller must not lead them to objects of other
-- schemas.
select set_config('search_path', current_schema() || ', pg_temp', true);

-- Creates the partitions of a day unless they exist. A partition is created as a separate table and
-- then attached, because `create table ... partition of` would block readers and writers of the
-- parent table.
create or replace function keep_snapshot_day(day date) returns void language plpgsql
security definer set search_path from current as $$
declare
  parent text;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' snapshot days'));
  foreach parent in array array['account_metric_snapshots', 'account_metric_hours'] loop
    name := parent || '_' || to_char(day, 'YYYYMMDD');
    continue when to_regclass(name) is not null;
    execute format('create table %I (like %I including all)', name, parent);
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name,
      day::timestamp at time zone 'UTC', (day + 1)::timestamp at time zone 'UTC');
  end loop;
end $$;

-- Drops the partitions of the days before `first_kept`, and returns how many partitions of minutes
-- were dropped. Waits at most 500 ms for a partition in use; the next call tries it again.
create or replace function drop_snapshot_days(first_kept date) returns integer language plpgsql
security definer set search_path from current as $$
declare
  parent text;
  partition regclass;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' snapshot days'));
  perform set_config('lock_timeout', '500ms', true);
  foreach parent in array array['account_metric_snapshots', 'account_metric_hours'] loop
    for partition in
      select inhrelid::regclass from pg_inherits join pg_class on pg_class.oid = inhrelid
      where inhparent = parent::regclass and relname < parent || '_' || to_char(first_kept, 'YYYYMMDD')
      order by relname
    loop
      begin
        execute format('drop table %s', partition);
        dropped := dropped + (parent = 'account_metric_snapshots')::integer;
      exception when lock_not_available then
        raise log 'the partition % is in use and is dropped later', partition;
      end;
    end loop;
  end loop;
  return dropped;
end $$;

-- Creates partitions for all days that may have minutes, so that their hours can be stored.
select keep_snapshot_day((now() at time zone 'UTC')::date + day) from generate_series(-31, 2) as day;
