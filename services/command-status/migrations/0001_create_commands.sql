-- One row per command. Its message and its events arrive on different topics, in any order: the fields of the message are
-- null until it has arrived (`created_at` tells), and `version` 0 means that no event has.
create table commands (
  command_id uuid primary key,
  organization_id uuid not null,
  server_id uuid not null,
  account_number text,
  managed_account_id uuid,
  operation text not null,

  -- From the message.
  request_id text,
  idempotency_key text,
  fingerprint text,
  -- Names the key of its generated passwords, so that the repeat of a reset shows the one that was set.
  derivation_key_id text,
  -- `json`, not `jsonb`: the text is handed on as it came, and never searched.
  payload json,
  reserved_credits integer,
  created_at timestamptz,
  deadline_at timestamptz,

  -- From the event with the highest version.
  version integer not null,
  status text not null,
  attempts integer not null,
  result json,
  -- Told without reading the result: an export's has up to 4 MB, and what is read together must stay small.
  result_bytes integer generated always as (octet_length(result::text)) stored,
  error_code text,
  error_message text,
  updated_at timestamptz not null,
  completed_at timestamptz
) with (fillfactor = 80);

-- The commands of an organization that still hold a reservation.
create index commands_open on commands (organization_id) where status in ('queued', 'leased');

-- How far each partition has been taken in; written in the statement that takes it in.
create table positions (
  topic text not null,
  partition integer not null,
  next_offset bigint not null,
  primary key (topic, partition)
) with (fillfactor = 50);
