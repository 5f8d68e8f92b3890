-- The tables of the directory: organizations, management keys, trading servers and prices. Keys,
-- servers and prices are published to `organization.directory`. Each of their records there has a
-- version, and the record with the highest version wins.
create table organizations (
  id uuid primary key,
  name text not null,
  created_at timestamptz not null
);

create table management_keys (
  key_id text primary key,
  organization_id uuid not null references organizations (id),
  -- SHA-256 of the secret. The secret itself is not stored.
  secret_hash text not null,
  scopes text[] not null,
  -- null: all servers of the organization.
  server_ids uuid[],
  -- null: the key never expires.
  expires_at timestamptz,
  status text not null check (status in ('active', 'revoked')),
  -- null: no limit.
  rate_limit jsonb,
  version integer not null check (version >= 1),
  created_at timestamptz not null
);
create index management_keys_organization on management_keys (organization_id);

create table servers (
  server_id uuid primary key,
  organization_id uuid not null references organizations (id),
  status text not null check (status in ('active', 'disabled', 'removed')),
  trading_server_url text not null,
  configuration jsonb not null,
  version integer not null check (version >= 1),
  created_at timestamptz not null
);
create index servers_organization on servers (organization_id);

-- Has at most one row: the prices that the operator has set. Without a row, the default prices in
-- libs/contracts apply.
create table prices (
  the_only boolean primary key default true check (the_only),
  prices jsonb not null,
  version integer not null check (version >= 1)
);

-- Messages for Kafka: directory records and credits events, each written in the transaction of its
-- change. A row is deleted after Kafka has acknowledged its message.
create table outbox (
  id bigint generated always as identity primary key,
  topic text not null,
  key text not null,
  value text not null
);
