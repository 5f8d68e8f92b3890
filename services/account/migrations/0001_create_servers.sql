-- Trading servers: who owns them comes from organization.directory, how they are configured is decided here.
create table servers (
  server_id uuid primary key,
  organization_id uuid not null,
  -- Version of the directory entry that ownership and status were taken from.
  directory_version integer not null,
  status text not null check (status in ('active', 'disabled', 'removed')),
  server_name text not null,
  company_name text not null,
  currency text not null check (currency in ('USD', 'NGN')),
  environment text not null check (environment in ('demo', 'real')),
  supported_leverage integer[] not null check (cardinality(supported_leverage) between 1 and 100),
  default_leverage integer,
  -- Rises with each change of the configuration; the trading server has been told up to configured_version.
  configuration_version integer not null default 1,
  configured_version integer not null default 0,
  -- The account numbers given so far; a number is never given twice, also after a deletion.
  last_account_number integer not null default 10000000 check (last_account_number between 10000000 and 99999999)
);
