-- The risk rules of accounts. One row for each version; a version without rules means that they were removed.
create table rule_sets (
  server_id uuid not null,
  account_number text not null,
  version integer not null check (version >= 1),
  organization_id uuid not null,
  account_id uuid not null,
  -- The partition of the account in trading.valuations: its owner activates the version.
  partition integer not null,
  -- The rules as the API shows them, each with the version in which it was added.
  rules json not null,
  -- The values of the account when the version was made; the version is compared with them first.
  seed json not null,
  initial_balance_minor bigint not null,
  command_id uuid not null unique,
  created_at timestamptz not null,
  -- The valuations from this position on are compared with the version; null: not yet.
  active_from_offset bigint,
  active_from timestamptz,
  primary key (server_id, account_number, version),
  check ((active_from_offset is null) = (active_from is null))
);

create index rule_sets_waiting on rule_sets (partition) where active_from_offset is null;
create index rule_sets_by_partition on rule_sets (partition);

-- How far the valuations of each partition were compared, and by whom.
create table partitions (
  number integer primary key,
  -- Id of the topic that the position belongs to.
  topic_id text not null,
  -- The states of all accounts include the valuations below this offset.
  next_offset bigint not null,
  -- Rises with each owner: an earlier owner changes nothing.
  token bigint not null
)
with (fillfactor = 50);

-- What the rules of an account compare with, as of `partitions.next_offset`.
create table account_states (
  server_id uuid not null,
  account_number text not null,
  partition integer not null,
  -- The version of the rules that the state belongs to.
  version integer not null,
  state json not null,
  primary key (server_id, account_number)
)
with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

create index account_states_by_partition on account_states (partition);
