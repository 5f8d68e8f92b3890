-- The minutes of an account and hour in one row, for charts of 30 days: the minutes of an account
-- are on as many pages as there are minutes. A row is written with the account's first minute of a
-- later hour. Partitioned by day like the minutes, and kept as long.
create table account_metric_hours (
  server_id uuid not null,
  account_number text not null,
  -- Start of the hour (UTC).
  hour timestamptz not null,
  -- The first and the last stored minute.
  first_at timestamptz not null,
  last_at timestamptz not null,
  -- Of the last minute.
  equity_minor bigint not null,
  balance_minor bigint not null,
  lowest_equity_minor bigint not null,
  highest_equity_minor bigint not null,
  -- The deepest drawdown from an equity within the hour, and that equity.
  drawdown_minor bigint not null,
  drawdown_from_minor bigint not null,
  primary key (server_id, account_number, hour)
) partition by range (hour);

-- The functions find the names of this schema alone, whatever a caller says.
select set_config('search_path', current_schema() || ', pg_temp', true);

-- Makes the partitions of a day unless they are there. Attaching, unlike creating in place, lets
-- readers and writers go on.
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

-- Drops the partitions of the days before `first_kept`; returns how many days of minutes. A
-- partition that is in use is left to the next turn.
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

-- Each day that may have minutes, so that their hours can be written.
select keep_snapshot_day((now() at time zone 'UTC')::date + day) from generate_series(-31, 2) as day;
