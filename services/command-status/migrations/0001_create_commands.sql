-- One row per command. The command message and the command events arrive on different topics, in
-- any order. `created_at` and the other columns of the message are null until the message arrives.
-- `version` is 0 until the first event arrives. Since 0007 this table is a partition of
-- `commands_by_month`: it has the commands that were stored before `monthly_from`.
create table commands (
  command_id uuid primary key,
  organization_id uuid not null,
  server_id uuid not null,
  account_number text,
  managed_account_id uuid,
  operation text not null,

  -- From the command message. null: it has not arrived.
  request_id text,
  idempotency_key text,
  fingerprint text,
  -- Id of the key that derives the generated passwords of the command. The repeat of a password
  -- reset derives the same password again. null: the command has no generated password.
  derivation_key_id text,
  -- `json`, not `jsonb`: responses contain the text as it was stored.
  payload json,
  reserved_credits integer,
  created_at timestamptz,
  deadline_at timestamptz,

  -- From the command event with the highest version.
  version integer not null,
  status text not null,
  attempts integer not null,
  result json,
  -- Size of the result, known without reading the result. The result of an export has up to 4 MB,
  -- and the total size of the results in one read is limited.
  result_bytes integer generated always as (octet_length(result::text)) stored,
  error_code text,
  error_message text,
  updated_at timestamptz not null,
  completed_at timestamptz
) with (fillfactor = 80);

-- Finds the commands of an organization that are not final: their credits are still reserved. 0002
-- replaces this index.
create index commands_open on commands (organization_id) where status in ('queued', 'leased');

-- How far each partition of a topic is ingested: all records below the offset `next_offset` are.
-- The statement that ingests a batch also raises the position.
create table positions (
  topic text not null,
  partition integer not null,
  next_offset bigint not null,
  primary key (topic, partition)
) with (fillfactor = 50);
