-- Requests of the management API, and handshakes of the live stream. Partitioned by day (UTC), so
-- that expired days are dropped without reading them.
create table requests (
  day date not null,
  organization_id uuid not null,
  -- UUIDv7: its time is `at`.
  id uuid not null,
  at timestamptz not null,
  request_id text not null,
  operation text not null,
  method text not null,
  server_id uuid,
  account_number text,
  -- 0: the caller disconnected before the response.
  status smallint not null,
  error_code text,
  duration_ms integer not null,
  actor_type text not null check (actor_type in ('key', 'user')),
  actor_id text not null,
  address text,
  credits_charged integer not null,
  command_id uuid,
  primary key (organization_id, id, day)
) partition by range (day);
-- Each filter has its index, in the order of the list. The primary key has another order, so that no plan reads all
-- requests of an organization for a rare value.
create index requests_by_time on requests (organization_id, at desc, id desc);
create index requests_by_status on requests (organization_id, status, at desc, id desc);
create index requests_by_code on requests (organization_id, error_code, at desc, id desc) where error_code is not null;
create index requests_by_operation on requests (organization_id, operation, at desc, id desc);
create index requests_by_actor on requests (organization_id, actor_id, at desc, id desc);
create index requests_by_server on requests (organization_id, server_id, account_number, at desc, id desc)
  where server_id is not null;
create index requests_by_request_id on requests (organization_id, request_id, at desc, id desc);

-- Numbers of requests of a minute that were not logged, one row for each record that reports some.
create table omitted_requests (
  day date not null,
  organization_id uuid not null,
  minute timestamptz not null,
  record_id uuid not null,
  reads integer not null,
  others integer not null,
  primary key (organization_id, minute, record_id, day)
) partition by range (day);

-- Numbers of stored requests, which limit an organization's requests of one day.
create table request_days (
  organization_id uuid not null,
  day date not null,
  stored integer not null,
  primary key (organization_id, day)
) with (fillfactor = 70);

-- The last use of each key, also after its requests are dropped.
create table key_uses (
  key_id text primary key,
  organization_id uuid not null,
  used_at timestamptz not null,
  address text
) with (fillfactor = 70);

select set_config('search_path', current_schema() || ', pg_temp', true);

-- Creates the partitions of a day. Attaching, unlike creating in place, does not stop readers and writers.
create function keep_request_day(day date) returns void language plpgsql security definer set search_path from current as $$
declare
  parent text;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' request days'));
  foreach parent in array array['requests', 'omitted_requests'] loop
    name := parent || '_' || to_char(day, 'YYYYMMDD');
    if to_regclass(name) is not null then continue; end if;
    execute format('create table %I (like %I including all)', name, parent);
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, day, day + 1);
  end loop;
end $$;

-- Drops the days before `first_kept`; returns their number. A day that is in use is dropped later.
create function drop_request_days(first_kept date) returns integer language plpgsql security definer
set search_path from current as $$
declare
  partition record;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' request days'));
  perform set_config('lock_timeout', '500ms', true);
  for partition in
    select inhrelid::regclass as name, parent.relname as parent
    from pg_inherits
      join pg_class as part on part.oid = inhrelid
      join pg_class as parent on parent.oid = inhparent
    where inhparent in ('requests'::regclass, 'omitted_requests'::regclass)
      and part.relkind = 'r' and part.relname < parent.relname || '_' || to_char(first_kept, 'YYYYMMDD')
    order by part.relname
  loop
    begin
      execute format('drop table %s', partition.name);
      if partition.parent = 'requests' then dropped := dropped + 1; end if;
    exception when lock_not_available then
      raise log 'the partition % is in use and is dropped later', partition.name;
    end;
  end loop;
  delete from request_days where day < first_kept;
  return dropped;
end $$;
