-- The entries of the credit ledger, in a partition for each month (UTC). So the entries of an old
-- month are dropped as a whole table.
--
-- An entry is in the month of its `epoch`. Each raise sets the epoch of a wallet shard to the time
-- in seconds, or to the epoch plus 1 if that is more. An epoch is raised only while no process
-- records in the shard, so all processes change to the shard's next month together.
--
-- The primary key of a partition makes an entry unique by charge id and kind (column `leg`) in its
-- month. A process that records an entry also looks for it in the previous month of the shard,
-- unless the entry is too new to be there. Its statements name these two partitions instead of the
-- parent table, so that they need no other month. Only entries of requests that are weeks old are
-- looked for in all months.
create table credit_entries (
  charge_id uuid not null,
  leg text not null check (leg in ('purchase', 'consume', 'refund', 'reserve', 'settle')),
  organization_id uuid not null,
  credits bigint not null check (credits >= 0),
  action text check (action in ('consume', 'release')),
  operation text not null,
  x_request_id text,
  command_id uuid,
  at timestamptz not null,
  epoch bigint not null,
  check ((action is not null) = (leg = 'settle'))
) partition by range (epoch);

-- Has one row. Entries with an epoch below `months_from` are in `credit_legs`, where processes of
-- release 0.1.0 write too. Entries with this or a higher epoch are in the partitions. If the ledger
-- is empty now, the partitions begin with the current month. Otherwise they begin with the first
-- month that begins at least 7 days after this migration. All months up to `dropped_through` are
-- dropped; null: no month is dropped.
create table credit_ledger (
  the_only boolean primary key default true check (the_only),
  months_from bigint not null,
  dropped_through date
);
insert into credit_ledger (months_from)
select extract(epoch from (case when exists (select from credit_legs)
  then date_trunc('month', (now() at time zone 'UTC') + interval '7 days') + interval '1 month'
  else date_trunc('month', now() at time zone 'UTC') end) at time zone 'UTC')::bigint;

-- The last epoch of the shard in its previous month; null: the shard is still in its first month.
-- All epochs of `credit_legs` count as one month.
alter table tags add column previous_epoch bigint;

-- The operation of the reserve entry. The month of this entry may be dropped before the command is
-- final. null: a process of release 0.1.0 recorded the reservation.
alter table open_reservations add column operation text;

-- The purchases, kept forever: a purchase id must not be used again after the month of its entry is
-- dropped.
create table purchases (
  purchase_id uuid primary key,
  organization_id uuid not null,
  credits bigint not null
);

-- The sums of each wallet at the end of a month. They include all entries of this and of earlier
-- months. The rows of the last dropped month replace the dropped entries when sums are checked.
create table wallet_closings (
  month date not null,
  organization_id uuid not null,
  purchased bigint not null,
  reserved bigint not null,
  consumed bigint not null,
  usage_lines bigint not null,
  primary key (month, organization_id)
);

-- Entries of old requests: a dropped month may have had them, so it is unknown whether they are
-- new. They change no wallet. The operator is warned while this table has rows.
create table refused_credit_entries (
  charge_id uuid not null,
  leg text not null,
  organization_id uuid not null,
  entry jsonb not null,
  refused_at timestamptz not null,
  primary key (charge_id, leg)
);

create view all_credit_entries as
select charge_id, leg, organization_id, credits, action, operation, x_request_id, command_id, at, epoch from credit_entries
union all
select charge_id, leg, organization_id, credits, action, operation, x_request_id, command_id, at, epoch from credit_legs;

-- The first day of the month of an epoch. All epochs of `credit_legs` count as the month before the
-- first partition.
create function credit_month(epoch bigint) returns date language sql stable as $$
  select (date_trunc('month', to_timestamp(greatest($1, months_from - 1)) at time zone 'UTC'))::date from credit_ledger
$$;

-- Creates the partition of a month. Does nothing if the partition exists, or if the month is before
-- the first partition. The partition is created as a separate table and then attached, because
-- `create table ... partition of` would block readers and writers of the parent table.
create function keep_credit_month(month date) returns void language plpgsql as $$
declare
  name text := 'credit_entries_' || to_char(month, 'YYYYMM');
  first_epoch bigint := extract(epoch from month::timestamp at time zone 'UTC');
  next_epoch bigint := extract(epoch from (month + interval '1 month') at time zone 'UTC');
begin
  if to_regclass(name) is not null or first_epoch < (select months_from from credit_ledger) then return; end if;
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' credit months'));
  -- Checks again, because another process may have created the partition during the wait.
  -- to_regclass is not used here: before the wait, it may have cached that the table is missing.
  if exists (select from pg_class where relname = name and relnamespace = current_schema()::regnamespace) then return; end if;
  execute format('create table %I (like credit_entries including constraints)', name);
  execute format('alter table %I add primary key (charge_id, leg)', name);
  -- The usage lines, newest first. The epoch leads from a line to the partition of its entry.
  execute format('create index on %I (organization_id, at desc, charge_id desc, leg desc) include (epoch)
    where credits > 0 and (leg in (''consume'', ''refund'', ''reserve'') or action = ''release'')', name);
  execute format('create index on %I (organization_id, epoch)', name);
  execute format('alter table credit_entries attach partition %I for values from (%s) to (%s)', name, first_epoch, next_epoch);
end $$;

-- Runs when the epoch of a shard is raised into a later month. Creates the partition of this month,
-- and copies the shard's wallets to `wallet_closings` for each month that ends. When the shard
-- leaves `credit_legs`, copies its purchases to `purchases`. The transaction that raises an epoch
-- holds the lock of the shard alone. So no process records in the shard meanwhile, and the wallets
-- are the sums of all entries of earlier months.
create function close_credit_month() returns trigger language plpgsql as $$
declare
  closed date := credit_month(old.epoch);
  opened date := credit_month(new.epoch);
begin
  if opened <= closed then return new; end if;
  perform keep_credit_month(opened);
  insert into wallet_closings (month, organization_id, purchased, reserved, consumed, usage_lines)
  select month::date, organization_id, purchased, reserved, consumed, usage_lines
  from wallets, generate_series(closed, opened - interval '1 month', interval '1 month') as month
  where tag = new.tag
  on conflict do nothing;
  if old.epoch < (select months_from from credit_ledger) then
    insert into purchases (purchase_id, organization_id, credits)
    select charge_id, organization_id, credits from credit_legs join wallets using (organization_id)
    where tag = new.tag and leg = 'purchase'
    on conflict do nothing;
  end if;
  new.previous_epoch := old.epoch;
  return new;
end $$;
create trigger close_credit_month before update of epoch on tags for each row execute function close_credit_month();

-- Drops the oldest month, and returns whether it was dropped. The month must be before
-- `first_kept`, and must be neither the current nor the previous month of a shard. If the oldest
-- month is that of `credit_legs`, this table is emptied instead. Waits at most 200 ms for the lock
-- of a month in use, because all later readers of the ledger wait behind this lock.
create function drop_credit_month(first_kept date) returns boolean language plpgsql as $$
declare
  oldest date;
  first date;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' credit months'));
  perform set_config('lock_timeout', '200ms', true);
  select credit_month(months_from - 1), dropped_through + interval '1 month' into first, oldest from credit_ledger;
  oldest := coalesce(oldest, first);
  if oldest >= first_kept
    or exists (select from tags where credit_month(epoch) <= oldest or credit_month(previous_epoch) <= oldest) then
    return false;
  end if;
  begin
    if oldest = first then
      truncate credit_legs;
    else
      execute format('drop table if exists %I', 'credit_entries_' || to_char(oldest, 'YYYYMM'));
    end if;
  exception when lock_not_available then
    raise log 'the credit entries of % are in use and are dropped later', oldest;
    return false;
  end;
  update credit_ledger set dropped_through = oldest;
  return true;
end $$;

-- If the ledger is empty: creates its first month. Otherwise this call does nothing.
select keep_credit_month(credit_month(extract(epoch from now())::bigint));

-- After the partitions have begun, `credit_legs` accepts no entry. Otherwise a process of release
-- 0.1.0 would record an entry again that a partition has.
-- locks: `not valid` reads no row; a `do` block, because the bound is computed.
do $$
begin
  execute format('alter table credit_legs add constraint credit_legs_before_months check (epoch < %s) not valid',
    (select months_from from credit_ledger));
end $$;
