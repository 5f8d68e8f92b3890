-- The events of each account, by their position in the organization's feed. Events that were
-- recorded before this migration, or by a process of release 0.1.0, are missing. This is a separate
-- table, because the recording of events would be blocked while an index on `events` is built.
create table account_events (
  day date not null,
  server_id uuid not null,
  account_number text not null,
  position bigint not null,
  organization_id uuid not null,
  event_id uuid not null,
  primary key (server_id, account_number, position, day)
) partition by range (day);

-- The functions below keep this `search_path`, as in 0033.
select set_config('search_path', current_schema() || ', pg_temp', true);

-- The function of 0001, with the rights of 0033. It also creates the partition of `account_events`.
create or replace function keep_day(day date) returns void language plpgsql security definer set search_path from current as $$
declare
  parent text;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' days'));
  foreach parent in array array['events', 'deliveries', 'account_events'] loop
    name := parent || '_' || to_char(day, 'YYYYMMDD');
    if to_regclass(name) is not null then continue; end if;
    execute format('create table %I (like %I including all)', name, parent);
    -- The free space in a page is for updates: deliveries are updated soon after their insert.
    if parent = 'deliveries' then
      execute format('alter table %I set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05)', name);
    end if;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, day, day + 1);
  end loop;
end $$;

-- The function of 0003, with the rights of 0033. It also drops the partitions of `account_events`.
create or replace function drop_days(first_kept date) returns integer language plpgsql security definer
set search_path from current as $$
declare
  partition record;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' days'));
  perform set_config('lock_timeout', '500ms', true);
  for partition in
    select inhrelid::regclass as name, parent.relname as parent
    from pg_inherits
      join pg_class as part on part.oid = inhrelid
      join pg_class as parent on parent.oid = inhparent
    where inhparent in ('events'::regclass, 'deliveries'::regclass, 'account_events'::regclass)
      and part.relkind = 'r' and part.relname < parent.relname || '_' || to_char(first_kept, 'YYYYMMDD')
    order by part.relname
  loop
    begin
      execute format('drop table %s', partition.name);
      if partition.parent = 'events' then dropped := dropped + 1; end if;
    exception when lock_not_available then
      raise log 'the partition % is in use and is dropped later', partition.name;
    end;
  end loop;
  return dropped;
end $$;
