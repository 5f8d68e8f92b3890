-- Trading servers. Organization and status follow the topic organization.directory. The first
-- values of the configuration are also from the directory; later changes are made here.
create table servers (
  server_id uuid primary key,
  organization_id uuid not null,
  -- Version of the directory entry that organization_id and status were copied from. Older entries
  -- are ignored.
  directory_version integer not null,
  status text not null check (status in ('active', 'disabled', 'removed')),
  server_name text not null,
  company_name text not null,
  currency text not null check (currency in ('USD', 'NGN')),
  environment text not null check (environment in ('demo', 'real')),
  supported_leverage integer[] not null check (cardinality(supported_leverage) between 1 and 100),
  default_leverage integer,
  -- Rises with each change of the configuration.
  configuration_version integer not null default 1,
  -- The configuration_version that was last sent to the trading server. 0: the configuration must
  -- be sent, because no send succeeded or an older configuration may have arrived last.
  configured_version integer not null default 0,
  -- The highest account number assigned so far. No number is assigned twice, also after a deletion.
  last_account_number integer not null default 10000000 check (last_account_number between 10000000 and 99999999)
);
