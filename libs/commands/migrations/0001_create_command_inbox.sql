-- Every command that this service ever took in. The primary key decides about repeats, for good.
create table command_inbox (
  command_id uuid primary key,
  partition integer not null,
  log_offset bigint not null,
  server_id uuid not null,
  -- The CommandMessage as JSON, without the sealed password.
  message text not null,
  -- JSON of the sealed password; wiped when the command is final.
  sealed_password text,
  status text not null default 'queued' check (status in ('queued', 'leased', 'succeeded', 'failed', 'expired')),
  version integer not null default 0,
  attempts integer not null default 0,
  result text,
  error_code text,
  error_message text,
  completed_at timestamptz,
  check ((completed_at is null) = (status in ('queued', 'leased'))),
  check (completed_at is null or sealed_password is null)
)
with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- What is still to do, in the order of the log.
create index command_inbox_open on command_inbox (partition, server_id, log_offset)
  where status in ('queued', 'leased');

-- Who may make commands of a partition final. Kafka's group decides who takes the row; the token rises with every take.
create table partition_lease (
  topic text not null,
  partition integer not null,
  token bigint not null,
  holder text not null,
  expires_at timestamptz not null,
  primary key (topic, partition)
)
with (fillfactor = 50);
