-- Details of commands in one partition per month, so that an old month can be dropped without
-- touching other rows. The month of a command is the month in which its first record was ingested.
-- The ids of all commands are kept forever (README, "Storage").

-- One row per command, kept forever. The statement that inserts the row decides the month of the
-- command's details. All later statements read the month from the row.
create table command_ids (
  command_id uuid primary key,
  organization_id uuid not null,
  server_id uuid not null,
  -- From the command message. null: it has not arrived.
  created_at timestamptz,
  -- The first day of the month, in UTC by the database's clock. '0001-01-01': the details are in
  -- `commands`, the table of release 0.1.0.
  month date not null,
  operation text not null,
  -- From the command message. null: it has not arrived.
  idempotency_key text,
  fingerprint bytea,
  derivation_key_id text,
  -- The outcome of the command, copied before the month of its details is dropped. After that, null
  -- in `status` means 'succeeded', and null in `attempts` means 1.
  status text,
  attempts integer,
  error_code text
);

-- The details of commands: the columns of `commands`, in the same order, and the month.
-- `idempotency_key`, `fingerprint` and `derivation_key_id` have values only in the partition
-- `commands`. In the partitions of months they are null, because `command_ids` has them.
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
-- Not a primary key: then the partitions would need the same primary key, but `commands` already
-- has the primary key `command_id`.
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

-- The number of listed commands, as in `command_counts`. `day` is the day (UTC) of `created_at`. It
-- can be before the month, because the first record of a command is ingested after `created_at`.
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

-- The tables of release 0.1.0 become the partitions of the month '0001-01-01' (0007).
alter table commands add column month date not null default '0001-01-01';
-- contract: 0.1.0 does not write the column, so its rows get the default, which passes the check
alter table commands add constraint commands_month check (month = '0001-01-01') not valid;
alter table command_counts add column month date not null default '0001-01-01';
-- contract: 0.1.0 does not write the column, so its rows get the default, which passes the check
alter table command_counts add constraint command_counts_month check (month = '0001-01-01') not valid;

-- One row: the month into which new commands are stored.
create table command_placement (
  is_only_row boolean primary key default true check (is_only_row),
  -- Before this time, new commands are stored in the tables of release 0.1.0, because processes of
  -- that release may still run. From this time on, they are stored in the current month.
  monthly_from timestamptz not null,
  -- Backfill of `command_ids`: the commands in `commands` up to this id have a row in
  -- `command_ids`. null: the backfill has not begun.
  filled_to uuid,
  -- Whether the backfill is complete.
  is_filled boolean not null
);

-- The month of a command whose first record is ingested now.
create function current_command_month() returns date language sql stable
  return date_trunc('month', now() at time zone 'UTC')::date;

-- Creates the partitions of a month if they do not exist. `create table ... partition of` would
-- block all reads and writes of the parent. Attaching a table does not block them.
create function keep_command_month(month date) returns void language plpgsql as $$
declare
  parent text;
  name text;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' command months'));
  foreach parent in array array['commands_by_month', 'command_counts_by_month'] loop
    name := replace(parent, '_by_month', '_' || to_char(month, 'YYYYMM'));
    -- Not to_regclass: PostgreSQL may have cached before the wait for the lock that the table does
    -- not exist.
    continue when exists (select from pg_class where relname = name and relnamespace = current_schema()::regnamespace);
    execute format('create table %I (like %I including all)', name, parent);
    -- The free space in a page is for updates: most rows are updated soon after their insert.
    execute format('alter table %I set (fillfactor = %s)', name, case parent when 'commands_by_month' then 80 else 50 end);
    execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, name, month,
      (month + interval '1 month')::date);
  end loop;
end $$;

-- The months whose details still exist, oldest first, each with the name of its partition of
-- `commands_by_month`.
create function attached_command_months() returns table (month date, partition name) language sql stable as $$
  select case when relname = 'commands' then date '0001-01-01' else to_date(substr(relname, 10), 'YYYYMM') end, relname
  from pg_inherits join pg_class on pg_class.oid = inhrelid
  where inhparent = 'commands_by_month'::regclass
  order by 1
$$;

-- The months that are past the retention: more than `kept` months before the current month. The
-- month '0001-01-01' has commands up to `monthly_from`, so `monthly_from` counts for it. It is
-- never past the retention before the backfill of `command_ids` is complete.
create function past_command_months(kept integer) returns setof date language sql stable as $$
  select month from attached_command_months() cross join command_placement
  where current_command_month() - kept * interval '1 month'
    > case when month > '0001-01-01' then month when is_filled then monthly_from at time zone 'UTC' end
$$;

-- Backfills `command_ids` from the next `piece` commands of `commands`, the table of release 0.1.0.
-- Returns whether more commands may follow. Does nothing before `monthly_from`.
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
    -- A later release has ingested an event of the command and inserted the row. Release 0.1.0 has
    -- ingested the message into `commands`. So the row lacks the fields of the message.
    on conflict (command_id) do update set created_at = excluded.created_at, idempotency_key = excluded.idempotency_key,
      fingerprint = excluded.fingerprint, derivation_key_id = excluded.derivation_key_id
      where known.created_at is null
  )
  select count(*), (array_agg(command_id order by command_id desc))[1] into found, last from part;
  update command_placement set filled_to = coalesce(last, filled_to), is_filled = found < piece;
  return found = piece;
end $$;

-- Whether a month has a command that is not final.
create function has_open_commands(month date) returns boolean language plpgsql stable as $$
declare
  partition name := (select m.partition from attached_command_months() m where m.month = has_open_commands.month);
  is_open boolean;
begin
  execute format('select exists (select from %I where status in (''queued'', ''leased''))', partition) into is_open;
  return is_open;
end $$;

-- Copies the outcomes of commands into `command_ids` before the details of their month are dropped.
-- Reads `pages` pages of the month's table, beginning with `first_page`. Returns the next page, or
-- null at the end. A repeat changes nothing: outcomes that are already copied are skipped.
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

-- Drops the details and the counts of a month. Returns 'dropped'; 'open' if a command of the month
-- is not final; 'used' if running statements still lock a table after 100 ms. It does not wait
-- longer, because later reads and writes of commands wait behind it.
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
