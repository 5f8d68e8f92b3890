-- The credit ledger. A leg is unique by charge and kind, so that it may come twice, from two sources and in any order:
--   purchase  credits bought                          charge id: the purchase id
--   consume   consumed at once                        charge id: one per request
--   refund    a consumed charge given back            charge id: that of the consume
--   reserve   set aside for a command                 charge id: the command id
--   settle    the reservation's end, consume/release  charge id: the command id
create table credit_legs (
  charge_id uuid not null,
  leg text not null check (leg in ('purchase', 'consume', 'refund', 'reserve', 'settle')),
  -- No foreign keys to organizations here: the writer checks a batch at once, and rows of organizations are never deleted.
  organization_id uuid not null,
  credits bigint not null check (credits >= 0),
  action text check (action in ('consume', 'release')),
  operation text not null,
  -- Null where only the command's final event told of the reservation.
  x_request_id text,
  command_id uuid,
  at timestamptz not null,
  -- The tag's epoch when the leg was recorded; see tags.
  epoch bigint not null,
  primary key (charge_id, leg),
  check ((action is not null) = (leg = 'settle'))
);

-- The ledger's sums per organization, kept in the transaction that adds the legs.
create table wallets (
  organization_id uuid primary key references organizations (id),
  id uuid not null unique,
  -- The organization's hash tag in Redis.
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

-- Reserve legs that have no settle leg yet.
create table open_reservations (
  charge_id uuid primary key,
  organization_id uuid not null,
  credits bigint not null,
  at timestamptz not null
);
create index open_reservations_organization on open_reservations (organization_id);
create index open_reservations_at on open_reservations (at);

-- How often each hash tag was opened. A leg of an epoch below that of the opening is in the wallets it set. Epochs begin
-- with the time in seconds, so that they stay ahead of a Redis that outlives this schema.
create table tags (
  tag smallint primary key,
  epoch bigint not null
);
insert into tags (tag, epoch)
select tag, extract(epoch from now())::bigint from generate_series(0, 63) as tag;

-- Legs that the wallets in Redis do not have yet: every purchase until it is applied, settlements that Redis did not take.
create table pending_wallet_changes (
  charge_id uuid primary key,
  organization_id uuid not null,
  kind text not null check (kind in ('purchase', 'consume', 'release')),
  credits bigint not null,
  epoch bigint not null
);

-- Up to where the ledger has taken command.events in, whichever process did it.
create table consumed_offsets (
  partition_number integer primary key,
  next_offset bigint not null
);
