-- The request log: requests of the management API, and handshakes of the live stream. Partitioned
-- by UTC day, so that expired days are dropped without reading their rows.
create table requests (
  day date not null,
  organization_id uuid not null,
  -- A UUIDv7 whose time is `at`.
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
-- Each filter of the list has an index in the order of the list, newest first. The primary key has
-- another order. Otherwise the planner could read all requests of an organization by the primary
-- key to find a rare value.
create index requests_by_time on requests (organization_id, at desc, id desc);
create index requests_by_status on requests (organization_id, status, at desc, id desc);
create index requests_by_code on requests (organization_id, error_code, at desc, id desc) where error_code is not null;
create index requests_by_operation on requests (organization_id, operation, at desc, id desc);
create index requests_by_actor on requests (organization_id, actor_id, at desc, id desc);
create index requests_by_server on requests (organization_id, server_id, account_number, at desc, id desc)
  where server_id is not null;
create index requests_by_request_id on requests (organization_id, request_id, at desc, id desc);

-- Numbers of requests that were left out of the request log, by organization and minute. A row has
-- the numbers of one minute from one record of api.requests. The id of the record is in the primary
-- key, so a record that Kafka delivers twice counts once.
create table omitted_requests (
  day date not null,
  organization_id uuid not null,
  minute timestamptz not null,
  record_id uuid not null,
  -- Successful reads.
  reads integer not null,
  -- Changes and failed requests.
  others integer not null,
  primary key (organization_id, minute, record_id, day)
) partition by range (day);

-- Numbers of stored requests of an organization and a day. REQUEST_LOG_PER_DAY limits them.
create table request_days (
  organization_id uuid not null,
  day date not null,
  stored integer not null,
  primary key (organization_id, day)
) with (fillfactor = 70);

-- The last use of each management key. A row stays after the requests of the key are dropped, and
-- changes at most once a minute.
create table key_uses (
  key_id text primary key,
  organization_id uuid not null,
  used_at timestamptz not null,
  address text
) with (fillfactor = 70);

-- The functions below run with the rights of their owner (`security definer`), because the
-- service's role may be unable to create and drop tables. They keep this search_path. With pg_temp
-- last, no temporary table of a caller is used in place of a table of this schema.
select set_config('search_path', current_schema() || ', pg_temp', true);

-- Creates the partitions of a day, unless they exist. Each is created as a table and then attached:
-- `create table … partition of` would lock the parent table against readers and writers.
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

-- Drops the partitions of days before `first_kept`, and returns the number of days whose requests
-- were dropped. A partition that other transactions use for 500 ms stays until a later call.
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
