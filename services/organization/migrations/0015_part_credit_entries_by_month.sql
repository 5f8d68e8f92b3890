-- The credit ledger by month, so that what is older than it is kept goes as a whole.
--
-- An entry lies in the month of its `epoch`: epochs begin with the time in seconds, and every
-- wallet shard raises its own alone (see tags). So no two processes ever record in different months
-- of one shard at the same time, and an entry is unique by (charge_id, leg) in its month and the
-- month that the shard was in before it. Processes name the partitions themselves: they never touch
-- the parent, or an old month, while they record.
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

-- One row. Entries of an epoch below `months_from` are in credit_legs, where processes of the
-- release before write; an empty ledger begins with months, another one with the first month that
-- is at least 7 days away. Months up to `dropped_through` are dropped.
create table credit_ledger (
  the_only boolean primary key default true check (the_only),
  months_from bigint not null,
  dropped_through date
);
insert into credit_ledger (months_from)
select extract(epoch from (case when exists (select from credit_legs)
  then date_trunc('month', (now() at time zone 'UTC') + interval '7 days') + interval '1 month'
  else date_trunc('month', now() at time zone 'UTC') end) at time zone 'UTC')::bigint;

-- The month before the one that the shard is in now ends with this epoch; null: there was none.
alter table tags add column previous_epoch bigint;

-- As the reservation's own entry has it, which may be dropped before a command ends; null where an
-- older release reserved.
alter table open_reservations add column operation text;

-- Purchase ids are unique for good, also when the month of their entry was dropped.
create table purchases (
  purchase_id uuid primary key,
  organization_id uuid not null,
  credits bigint not null
);

-- The wallets at the end of each month, which are the sums of all entries up to it.
create table wallet_closings (
  month date not null,
  organization_id uuid not null,
  purchased bigint not null,
  reserved bigint not null,
  consumed bigint not null,
  usage_lines bigint not null,
  primary key (month, organization_id)
);

-- Entries that are so old that nobody can tell whether a dropped month had them. They are in no
-- wallet.
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

-- The month of an epoch; one of credit_legs is in the month before the first.
create function credit_month(epoch bigint) returns date language sql stable as $$
  select (date_trunc('month', to_timestamp(greatest($1, months_from - 1)) at time zone 'UTC'))::date from credit_ledger
$$;

-- Makes the partition of a month unless it is there. Attaching, unlike creating in place, lets
-- readers and writers go on.
create function keep_credit_month(month date) returns void language plpgsql as $$
declare
  name text := 'credit_entries_' || to_char(month, 'YYYYMM');
  first_epoch bigint := extract(epoch from month::timestamp at time zone 'UTC');
  next_epoch bigint := extract(epoch from (month + interval '1 month') at time zone 'UTC');
begin
  if to_regclass(name) is not null or first_epoch < (select months_from from credit_ledger) then return; end if;
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' credit months'));
  -- Not to_regclass: what it found missing before the wait, it may still remember as missing.
  if exists (select from pg_class where relname = name and relnamespace = current_schema()::regnamespace) then return; end if;
  execute format('create table %I (like credit_entries including constraints)', name);
  execute format('alter table %I add primary key (charge_id, leg)', name);
  -- The lines of the usage list; the epoch leads from a line to its month.
  execute format('create index on %I (organization_id, at desc, charge_id desc, leg desc) include (epoch)
    where credits > 0 and (leg in (''consume'', ''refund'', ''reserve'') or action = ''release'')', name);
  execute format('create index on %I (organization_id, epoch)', name);
  execute format('alter table credit_entries attach partition %I for values from (%s) to (%s)', name, first_epoch, next_epoch);
end $$;

-- Whoever raises the epoch of a shard into another month is alone with the shard: its wallets are
-- the sums of all entries of the months before, and nobody is about to record one.
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

-- Drops the oldest month if it lies before `first_kept`, and no shard is in it or was in it last.
-- False: there is none, or it is in use; waiting for its lock would hold up everybody who reads the
-- ledger meanwhile.
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

-- The first month of an empty ledger.
select keep_credit_month(credit_month(extract(epoch from now())::bigint));

-- No process may write here any more once the months begin: one of the release before would record
-- again what the months have.
-- locks: not valid, so that no row is read; the bound is computed.
do $$
begin
  execute format('alter table credit_legs add constraint credit_legs_before_months check (epoch < %s) not valid',
    (select months_from from credit_ledger));
end $$;
