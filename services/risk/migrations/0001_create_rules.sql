-- The risk rules of accounts: one row for each version. If `rules` is an empty list, this version
-- removed the rules.
create table rule_sets (
  server_id uuid not null,
  account_number text not null,
  version integer not null check (version >= 1),
  organization_id uuid not null,
  account_id uuid not null,
  -- The partition of the account in trading.valuations. The process that owns this partition
  -- activates the version.
  partition integer not null,
  -- The rules as the API shows them. Each has the version in which it was added (`since`).
  rules json not null,
  -- The values of the account when its rules were set. When the version becomes active, it is first
  -- compared with these values, or with the account's last valuation if that is newer.
  seed json not null,
  initial_balance_minor bigint not null,
  command_id uuid not null unique,
  created_at timestamptz not null,
  -- The version applies to valuations from this offset on. Null: the version is not active yet. The
  -- offset becomes 0 if trading.valuations is recreated, or if the account moves to another
  -- partition, after the activation.
  active_from_offset bigint,
  -- When the version became active.
  active_from timestamptz,
  primary key (server_id, account_number, version),
  check ((active_from_offset is null) = (active_from is null))
);

create index rule_sets_waiting on rule_sets (partition) where active_from_offset is null;
create index rule_sets_by_partition on rule_sets (partition);

-- The partitions of trading.valuations: up to which offset the valuations were compared, and the
-- token of the process that owns the partition.
create table partitions (
  number integer primary key,
  -- Kafka's id of the topic that next_offset belongs to. A recreated topic has another id.
  topic_id text not null,
  -- The rows in account_states include all valuations below this offset.
  next_offset bigint not null,
  -- Rises with each new owner. A process without the current token stores neither states nor
  -- alerts.
  token bigint not null
)
with (fillfactor = 50);

-- The states of the rules of accounts, after the valuations below `partitions.next_offset`: for
-- example the references, and which limits are breached.
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
