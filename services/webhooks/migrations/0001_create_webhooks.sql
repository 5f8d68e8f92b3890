create table endpoints (
  id uuid primary key,
  organization_id uuid not null,
  url text not null,
  description text not null,
  -- Null: every kind but those of commands.
  kinds text[],
  -- Null: all servers.
  server_ids uuid[],
  status text not null check (status in ('enabled', 'disabled')),
  disabled_reason text check (disabled_reason in ('owner', 'gone', 'failing')),
  -- Both sealed; the previous one signs along until `previous_until`.
  secret json not null,
  previous_secret json,
  previous_until timestamptz,
  -- The first of the failures since the last success; null where the last attempt succeeded.
  failing_since timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((status = 'disabled') = (disabled_reason is not null)),
  check ((previous_secret is null) = (previous_until is null))
) with (fillfactor = 70);
create index endpoints_of_organization on endpoints (organization_id, created_at, id);
-- Whether anybody asks for events of commands, without which those are not even looked into.
create index endpoints_of_commands on endpoints (organization_id)
  where status = 'enabled' and kinds && array['command.succeeded', 'command.failed', 'command.expired'];

-- The place of the newest event in the feed of each organization. Its lock is held from the giving of places to the commit,
-- so that places become visible in their order.
create table organizations (
  organization_id uuid primary key,
  last_position bigint not null
) with (fillfactor = 50);

-- How many events an account has; written under the lock of its organization.
create table accounts (
  server_id uuid not null,
  account_number text not null,
  last_sequence bigint not null,
  primary key (server_id, account_number)
) with (fillfactor = 50);

-- What happened, once each. Rows never change. Partitioned by the day of recording, so that what is older than it is kept
-- goes without touching the rest.
create table events (
  day date not null,
  organization_id uuid not null,
  event_id uuid not null,
  position bigint not null,
  type text not null,
  server_id uuid,
  -- The bytes that are signed and sent.
  payload text not null,
  created_at timestamptz not null,
  primary key (organization_id, event_id, day)
) partition by range (day);
create index events_feed on events (organization_id, position);

-- One event on its way to one endpoint, on the day of its event.
create table deliveries (
  day date not null,
  -- UUIDv5(endpoint id, event id): an event can only ever be one delivery to an endpoint.
  id uuid not null,
  endpoint_id uuid not null,
  organization_id uuid not null,
  event_id uuid not null,
  type text not null,
  status text not null check (status in ('pending', 'succeeded', 'failed', 'cancelled')),
  -- Not to be sent before this; of a leased one the end of the lease. Null: final.
  due_at timestamptz,
  leased boolean not null,
  -- Failed attempts since it was begun, or begun again: the place in the schedule of retries.
  step integer not null default 0,
  -- Attempts of all time: the fence of whoever records one.
  attempt_count integer not null default 0,
  -- The newest attempts, in their order.
  attempts jsonb not null default '[]',
  created_at timestamptz not null,
  completed_at timestamptz,
  primary key (id, day),
  check ((status = 'pending') = (due_at is not null)),
  check ((status = 'pending') = (completed_at is null))
) partition by range (day);
create index deliveries_open on deliveries (endpoint_id, due_at) where due_at is not null;
-- Without the id, so that whoever asks for a delivery by its id is never led through all of its endpoint's.
create index deliveries_of_endpoint on deliveries (endpoint_id, created_at desc);

-- Makes the partitions of a day unless they are there. Attaching, unlike creating in place, lets readers and writers go on.
create function keep_day(day date) returns void language plpgsql as $$
declare
  parent text;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' days'));
  foreach parent in array array['events', 'deliveries'] loop
    name := parent || '_' || to_char(day, 'YYYYMMDD');
    if to_regclass(name) is not null then continue; end if;
    execute format('create table %I (like %I including all)', name, parent);
    -- Rows of deliveries change two times each within moments.
    if parent = 'deliveries' then
      execute format('alter table %I set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05)', name);
    end if;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, day, day + 1);
  end loop;
end $$;

-- Drops the partitions of the days before `first_kept`; returns how many days.
create function drop_days(first_kept date) returns integer language plpgsql as $$
declare
  partition record;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' days'));
  for partition in
    select inhrelid::regclass as name, parent.relname as parent
    from pg_inherits
      join pg_class as part on part.oid = inhrelid
      join pg_class as parent on parent.oid = inhparent
    where inhparent in ('events'::regclass, 'deliveries'::regclass)
      and part.relkind = 'r' and part.relname < parent.relname || '_' || to_char(first_kept, 'YYYYMMDD')
  loop
    execute format('drop table %s', partition.name);
    if partition.parent = 'events' then dropped := dropped + 1; end if;
  end loop;
  return dropped;
end $$;
