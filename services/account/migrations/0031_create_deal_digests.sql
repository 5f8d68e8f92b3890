-- When the digests of an account that is being deleted were made, up to its last deal. Its deals
-- are deleted afterwards, so its digests never change again.
alter table accounts add column deals_digested_at timestamptz;

-- The digest of the deals of an account on a day in UTC. An account without a row has no deals.
create table deal_digests (
  server_id uuid not null,
  day date not null,
  account_number text not null,
  deal_count integer not null check (deal_count >= 0),
  commission_minor bigint not null,
  realized_pnl_minor bigint not null,
  swap_minor bigint not null,
  hash bytea not null check (length(hash) = 32),
  revision integer not null check (revision >= 1),
  created_at timestamptz not null,
  revised_at timestamptz,
  primary key (server_id, day, account_number)
);
