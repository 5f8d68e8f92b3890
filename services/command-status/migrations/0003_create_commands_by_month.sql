-- Commands by the month in which they were first seen, so that old months go without touching the
-- rest, and the ids of all commands for good (README, "Storage").

-- A row per command, for good. Whoever inserts it first decides the month that holds the command's
-- details.
create table command_ids (
  command_id uuid primary key,
  organization_id uuid not null,
  server_id uuid not null,
  -- Of the message; null until it has arrived.
  created_at timestamptz,
  -- The first day of the month (UTC) by the database's clock; '0001-01-01': the table of the
  -- releases before.
  month date not null,
  operation text not null,
  -- From the message, as `created_at`.
  idempotency_key text,
  fingerprint bytea,
  derivation_key_id text,
  -- Written when the details are about to be dropped, and only where they differ from 'succeeded'
  -- and 1.
  status text,
  attempts integer,
  error_code text
);

-- As `commands`, in the same order of columns. Partitions of months leave out what `command_ids`
-- has: key, fingerprint and derivation key.
create table commands_by_month (
  command_id uuid not null,
  organization_id uuid not null,
  server_id uuid not null,
  account_number text,
  managed_account_id uuid,
  operation text not null,
  request_id text,
  idempotency_key text,
  fingerprint text,
  derivation_key_id text,
  payload json,
  reserved_credits integer,
  created_at timestamptz,
  deadline_at timestamptz,
  version integer not null,
  status text not null,
  attempts integer not null,
  result json,
  result_bytes integer generated always as (octet_length(result::text)) stored,
  error_code text,
  error_message text,
  updated_at timestamptz not null,
  completed_at timestamptz,
  messages integer not null default 0,
  month date not null
) partition by range (month);
-- No primary key: the table of the releases before, which becomes a partition, has one already.
create unique index commands_by_month_place on commands_by_month (month, command_id);
create index commands_by_month_of_server on commands_by_month (server_id, created_at desc, command_id desc)
  include (operation) where created_at is not null;
create index commands_by_month_of_account
  on commands_by_month (server_id, account_number, created_at desc, command_id desc)
  where created_at is not null and account_number is not null;
create index commands_by_month_of_request
  on commands_by_month (server_id, request_id, created_at desc, command_id desc)
  where created_at is not null;
create index commands_by_month_unsuccessful
  on commands_by_month (server_id, status, created_at desc, command_id desc)
  where status in ('failed', 'expired');
create index commands_by_month_open on commands_by_month (organization_id, server_id, created_at desc, command_id desc)
  where status in ('queued', 'leased');

-- As `command_counts`. `day` is that of `created_at`, which may lie before the month in which the
-- command was first seen.
create table command_counts_by_month (
  organization_id uuid not null,
  server_id uuid not null,
  day date not null,
  operation text not null,
  commands bigint not null,
  month date not null
) partition by range (month);
create unique index command_counts_by_month_place
  on command_counts_by_month (organization_id, server_id, day, operation, month);

-- The tables of the releases before become the partitions of '0001-01-01'.
alter table commands add column month date not null default '0001-01-01';
-- contract: 0.1.0 leaves the column to its default, which fulfils the check
alter table commands add constraint commands_month check (month = '0001-01-01') not valid;
alter table command_counts add column month date not null default '0001-01-01';
-- contract: 0.1.0 leaves the column to its default, which fulfils the check
alter table command_counts add constraint command_counts_month check (month = '0001-01-01') not valid;

-- One row: where new commands go.
create table command_placement (
  is_only_row boolean primary key default true check (is_only_row),
  -- Until then new commands go to the tables of the releases before, whose processes may still run.
  monthly_from timestamptz not null,
  -- Commands of the old table up to this id have their row in `command_ids`; null: none yet.
  filled_to uuid,
  -- All of them have.
  is_filled boolean not null
);

-- The month of a command that is first seen now.
create function current_command_month() returns date language sql stable
  return date_trunc('month', now() at time zone 'UTC')::date;

-- Makes the partitions of a month unless they are there. Attaching, unlike creating in place, lets
-- readers and writers go on.
create function keep_command_month(month date) returns void language plpgsql as $$
declare
  parent text;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' command months'));
  foreach parent in array array['commands_by_month', 'command_counts_by_month'] loop
    name := replace(parent, '_by_month', '_' || to_char(month, 'YYYYMM'));
    -- Not to_regclass: what it found missing before the wait, it may still remember as missing.
    continue when exists (select from pg_class where relname = name and relnamespace = current_schema()::regnamespace);
    execute format('create table %I (like %I including all)', name, parent);
    -- Each row changes twice within moments.
    execute format('alter table %I set (fillfactor = %s)', name, case parent when 'commands_by_month' then 80 else 50 end);
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, month,
      (month + interval '1 month')::date);
  end loop;
end $$;

-- The months whose details are there, the oldest first, each with the name of its partition.
create function attached_command_months() returns table (month date, partition name) language sql stable as $$
  select case when relname = 'commands' then date '0001-01-01' else to_date(substr(relname, 10), 'YYYYMM') end, relname
  from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent = 'commands_by_month'::regclass
  order by 1
$$;

-- The months that may be dropped: everything in them was first seen more than `kept` months before
-- the current month.
create function past_command_months(kept integer) returns setof date language sql stable as $$
  select month from attached_command_months() cross join command_placement
  where current_command_month() - kept * interval '1 month'
    > case when month > '0001-01-01' then month when is_filled then monthly_from at time zone 'UTC' end
$$;

-- Gives rows of `command_ids` to the next `piece` commands of the old table; returns whether there
-- are more.
create function fill_command_ids(piece integer) returns boolean language plpgsql as $$
declare
  placement command_placement;
  last uuid;
  found integer;
begin
  select * into placement from command_placement for update;
  if placement.is_filled or now() < placement.monthly_from then return false; end if;
  with part as (
    select * from commands_by_month
    where month = '0001-01-01' and command_id > coalesce(placement.filled_to, '00000000-0000-0000-0000-000000000000')
    order by command_id limit piece
  ), filled as (
    insert into command_ids as known (command_id, organization_id, server_id, created_at, month, operation,
      idempotency_key, fingerprint, derivation_key_id)
    select command_id, organization_id, server_id, created_at, month, operation, idempotency_key,
      case when fingerprint ~ '^([0-9a-f]{2})+$' then decode(fingerprint, 'hex') end, derivation_key_id
    from part order by command_id
    -- Of a command whose event this release took in, the release before may have taken in the
    -- message.
    on conflict (command_id) do update set created_at = excluded.created_at, idempotency_key = excluded.idempotency_key,
      fingerprint = excluded.fingerprint, derivation_key_id = excluded.derivation_key_id
      where known.created_at is null
  )
  select count(*), (array_agg(command_id order by command_id desc))[1] into found, last from part;
  update command_placement set filled_to = coalesce(last, filled_to), is_filled = found < piece;
  return found = piece;
end $$;

-- Whether a command of a month is not final.
create function has_open_commands(month date) returns boolean language plpgsql stable as $$
declare
  partition name := (select m.partition from attached_command_months() m where m.month = has_open_commands.month);
  is_open boolean;
begin
  execute format('select exists (select from %I where status in (''queued'', ''leased''))', partition) into is_open;
  return is_open;
end $$;

-- Writes into `command_ids` what is kept of the commands in some pages of a month that will be
-- dropped; returns the page to go on with, or null at the end. What was written before is left
-- alone, so it may be repeated.
create function keep_command_outcomes(month date, first_page bigint, pages integer) returns bigint
language plpgsql as $$
declare
  partition name := (select m.partition from attached_command_months() m where m.month = keep_command_outcomes.month);
begin
  if partition is null then return null; end if;
  execute format(
    'update command_ids as known
     set status = nullif(done.status, ''succeeded''), attempts = nullif(done.attempts, 1), error_code = done.error_code
     from (
       select command_id, status, attempts, error_code from %I
       where ctid >= %L::tid and ctid < %L::tid and completed_at is not null
         and (status <> ''succeeded'' or attempts <> 1)
       order by command_id
     ) as done
     where known.command_id = done.command_id and known.status is null and known.attempts is null',
    partition, format('(%s,0)', first_page), format('(%s,0)', first_page + pages));
  if (first_page + pages) * current_setting('block_size')::bigint >= pg_relation_size(partition::regclass) then
    return null;
  end if;
  return first_page + pages;
end $$;

-- Drops the details of a month: 'dropped'; 'open' where a command in it is not final; 'used' where
-- a statement under way holds it. Waiting longer for its lock would hold up everybody who reads or
-- writes commands meanwhile.
create function drop_command_month(month date) returns text language plpgsql as $$
declare
  partition name := (select m.partition from attached_command_months() m where m.month = drop_command_month.month);
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' command months'));
  if partition is null then return 'dropped'; end if;
  if has_open_commands(month) then return 'open'; end if;
  perform set_config('lock_timeout', '100ms', true);
  execute format('alter table commands_by_month detach partition %I', partition);
  execute format('alter table command_counts_by_month detach partition %I', replace(partition, 'commands', 'command_counts'));
  execute format('drop table %I, %I', partition, replace(partition, 'commands', 'command_counts'));
  return 'dropped';
exception when lock_not_available then
  return 'used';
end $$;
