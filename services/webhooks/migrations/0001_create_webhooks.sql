create table endpoints (
  id uuid primary key,
  organization_id uuid not null,
  url text not null,
  description text not null,
  -- Kinds of events that the endpoint subscribes to. null: all kinds except command events.
  kinds text[],
  -- Servers whose events the endpoint gets. null: all servers. Events without a server go to every
  -- endpoint.
  server_ids uuid[],
  status text not null check (status in ('enabled', 'disabled')),
  disabled_reason text check (disabled_reason in ('owner', 'gone', 'failing')),
  -- Both secrets are encrypted. After a rotation, the previous secret also signs until
  -- `previous_until`. null: the secret was never rotated.
  secret json not null,
  previous_secret json,
  previous_until timestamptz,
  -- Time of the first failed attempt since the last success. null: no attempt has failed since the
  -- last success, or since the endpoint was enabled again.
  failing_since timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((status = 'disabled') = (disabled_reason is not null)),
  check ((previous_secret is null) = (previous_until is null))
) with (fillfactor = 70);
create index endpoints_of_organization on endpoints (organization_id, created_at, id);
-- Finds out whether any enabled endpoint subscribes to command events. Without a subscriber,
-- records of `command.events` are not even parsed.
create index endpoints_of_commands on endpoints (organization_id)
  where status = 'enabled' and kinds && array['command.succeeded', 'command.failed', 'command.expired'];

-- The position of the newest event in the feed of each organization. A transaction that records
-- events locks the row before it assigns positions, and holds the lock until its commit. So
-- positions become visible in their order.
create table organizations (
  organization_id uuid primary key,
  last_position bigint not null
) with (fillfactor = 50);

-- The last `accountSequence` of each account. Written under the lock of the organization's row.
create table accounts (
  server_id uuid not null,
  account_number text not null,
  last_sequence bigint not null,
  primary key (server_id, account_number)
) with (fillfactor = 50);

-- Webhook events, each recorded once. Rows never change. One partition per recording day (UTC), so
-- that expired days can be dropped without touching other rows.
create table events (
  day date not null,
  organization_id uuid not null,
  event_id uuid not null,
  position bigint not null,
  type text not null,
  server_id uuid,
  -- The body of the webhook, byte for byte as it is signed and sent.
  payload text not null,
  created_at timestamptz not null,
  primary key (organization_id, event_id, day)
) partition by range (day);
create index events_feed on events (organization_id, position);

-- Deliveries: one event for one endpoint. `day` is the recording day of the event.
create table deliveries (
  day date not null,
  -- UUIDv5(endpoint id, event id): an event has at most one delivery to an endpoint.
  id uuid not null,
  endpoint_id uuid not null,
  organization_id uuid not null,
  event_id uuid not null,
  type text not null,
  status text not null check (status in ('pending', 'succeeded', 'failed', 'cancelled')),
  -- Earliest time of the next attempt. If the delivery is leased: the end of the lease. null: the
  -- status is final.
  due_at timestamptz,
  leased boolean not null,
  -- Number of failed attempts since the delivery was created or last restarted. It determines the
  -- delay of the next retry.
  step integer not null default 0,
  -- Number of all attempts. It is the fencing token when an attempt is recorded: if two processes
  -- make the same attempt, only the first record counts.
  attempt_count integer not null default 0,
  -- The newest attempts, oldest first. Older attempts are removed.
  attempts jsonb not null default '[]',
  created_at timestamptz not null,
  completed_at timestamptz,
  primary key (id, day),
  check ((status = 'pending') = (due_at is not null)),
  check ((status = 'pending') = (completed_at is null))
) partition by range (day);
create index deliveries_open on deliveries (endpoint_id, due_at) where due_at is not null;
-- The index does not include the id. With the id, PostgreSQL might use this index to find one
-- delivery by endpoint and id, and then it would scan all deliveries of the endpoint.
create index deliveries_of_endpoint on deliveries (endpoint_id, created_at desc);

-- Creates the partitions of a day if they do not exist. `create table ... partition of` would block
-- all reads and writes of the parent. Attaching a table does not block them. 0061 replaces this
-- function.
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
    -- The free space in a page is for updates: deliveries are updated soon after their insert.
    if parent = 'deliveries' then
      execute format('alter table %I set (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05)', name);
    end if;
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, day, day + 1);
  end loop;
end $$;

-- Drops the partitions of the days before `first_kept`. Returns the number of dropped days. 0003
-- and 0061 replace this function.
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
