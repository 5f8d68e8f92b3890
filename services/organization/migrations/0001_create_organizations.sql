-- Organizations, what their keys may do, and the servers they own. Each record of the directory carries its version.
create table organizations (
  id uuid primary key,
  name text not null,
  created_at timestamptz not null
);

create table management_keys (
  key_id text primary key,
  organization_id uuid not null references organizations (id),
  secret_hash text not null,
  scopes text[] not null,
  server_ids uuid[],
  expires_at timestamptz,
  status text not null check (status in ('active', 'revoked')),
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

-- At most one row: the prices that the operator set. Without it the defaults of the contracts are in force.
create table prices (
  the_only boolean primary key default true check (the_only),
  prices jsonb not null,
  version integer not null check (version >= 1)
);

-- Committed facts and directory records on their way to Kafka; a row is gone once it was acknowledged.
create table outbox (
  id bigint generated always as identity primary key,
  topic text not null,
  key text not null,
  value text not null
);
