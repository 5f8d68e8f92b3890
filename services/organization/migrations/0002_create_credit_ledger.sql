-- The entries of the credit ledger. Since 0015 new entries get into the partitions of
-- `credit_entries` instead. An entry is unique by charge id and kind (column `leg`), because usage
-- streams and command events may report the same entry, repeatedly and in any order. The kinds:
--   purchase  bought credits                      charge id: the purchase id
--   consume   credits that a request consumed     charge id: one for each request
--   refund    return of the credits of a consume  charge id: as the consume
--   reserve   credits set aside for a command     charge id: the command id; for a second or later
--                                                 reservation of the command, another id
--   settle    end of a reservation                charge id: as the reservation
create table credit_legs (
  charge_id uuid not null,
  leg text not null check (leg in ('purchase', 'consume', 'refund', 'reserve', 'settle')),
  -- No foreign key: the service checks the organizations of a batch of entries in one statement,
  -- and rows of organizations are never deleted.
  organization_id uuid not null,
  -- Never negative: the kind gives the direction.
  credits bigint not null check (credits >= 0),
  -- Whether the reserved credits are consumed or released. null: the entry is not a settle entry.
  action text check (action in ('consume', 'release')),
  operation text not null,
  -- null: unknown, for example if only the final event of the command reported the entry.
  x_request_id text,
  command_id uuid,
  at timestamptz not null,
  -- The epoch of the wallet shard when the entry was recorded; see the table `tags`.
  epoch bigint not null,
  primary key (charge_id, leg),
  check ((action is not null) = (leg = 'settle'))
);

-- The sums of the entries of each organization. The transaction that adds entries changes them.
create table wallets (
  organization_id uuid primary key references organizations (id),
  id uuid not null unique,
  -- The wallet shard: a hash tag of Redis Cluster.
  tag smallint not null check (tag between 0 and 63),
  purchased bigint not null default 0,
  reserved bigint not null default 0,
  consumed bigint not null default 0,
  available bigint not null generated always as (purchased - reserved - consumed) stored,
  low_balance_threshold bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null
);
create index wallets_tag on wallets (tag);

-- Reserve entries whose charge has no settle entry yet.
create table open_reservations (
  charge_id uuid primary key,
  organization_id uuid not null,
  credits bigint not null,
  at timestamptz not null
);
create index open_reservations_organization on open_reservations (organization_id);
create index open_reservations_at on open_reservations (at);

-- The epoch of each wallet shard. Each sync of the shard raises the epoch, and since 0010 each
-- drift check. Entries with a lower epoch are included in the wallets that the sync sets in Redis;
-- entries with the raised epoch are not. The first epoch is the time in seconds: if the schema is
-- created again and Redis keeps its data, the new epochs are higher than the epochs in Redis.
create table tags (
  tag smallint primary key,
  epoch bigint not null
);
insert into tags (tag, epoch)
select tag, extract(epoch from now())::bigint from generate_series(0, 63) as tag;

-- Changes by entries that the wallet in Redis perhaps does not have yet: each purchase until Redis
-- has applied it, and settlements that Redis did not apply.
create table pending_wallet_changes (
  charge_id uuid primary key,
  organization_id uuid not null,
  kind text not null check (kind in ('purchase', 'consume', 'release')),
  credits bigint not null,
  epoch bigint not null
);

-- For each partition of `command.events`: the ledger has all events before `next_offset`. All
-- processes of the service share these rows.
create table consumed_offsets (
  partition_number integer primary key,
  next_offset bigint not null
);
