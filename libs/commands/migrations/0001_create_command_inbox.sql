-- Every command that this service has read from its command topic. Rows are never deleted: by the
-- primary key, a repeated message is always recognized.
create table command_inbox (
  command_id uuid primary key,
  -- Partition and offset of the message in the command topic. The offset is negative if the command
  -- was moved to this partition after the topic had grown.
  partition integer not null,
  log_offset bigint not null,
  server_id uuid not null,
  -- The command message as JSON, without the sealed password. Empty when the command is final;
  -- release 0.1.0 kept the message.
  message text not null,
  -- The sealed password as JSON. Null: the message has none, or the command is final.
  sealed_password text,
  status text not null default 'queued' check (status in ('queued', 'leased', 'succeeded', 'failed', 'expired')),
  -- Rises with each change of the state; also the version of the command event.
  version integer not null default 0,
  attempts integer not null default 0,
  -- Only release 0.1.0 stored results here. command-status has the results of all commands.
  result text,
  error_code text,
  error_message text,
  -- Null: the command is open.
  completed_at timestamptz,
  check ((completed_at is null) = (status in ('queued', 'leased'))),
  check (completed_at is null or sealed_password is null)
)
with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);

-- The open commands of a partition and trading server, in log order.
create index command_inbox_open on command_inbox (partition, server_id, log_offset)
  where status in ('queued', 'leased');

-- The leases of the partitions. A process may execute commands of a partition only while it has the
-- current token and the lease has not expired. The consumer group decides which process acquires
-- the lease. Each acquisition raises the token, so the token of the former holder becomes invalid.
create table partition_lease (
  topic text not null,
  partition integer not null,
  token bigint not null,
  holder text not null,
  expires_at timestamptz not null,
  primary key (topic, partition)
)
with (fillfactor = 50);
