-- When the last digests of an account were made, up to its last deal. This happens in the deletion
-- of the account, before its deals are deleted. Afterwards its digests never change. Null: the last
-- digests are not made yet.
alter table accounts add column deals_digested_at timestamptz;

-- Digests of deals: one row for an account and a UTC day. If the digests of the day are made, an
-- account without a row had no deals on this day.
create table deal_digests (
  server_id uuid not null,
  day date not null,
  account_number text not null,
  deal_count integer not null check (deal_count >= 0),
  commission_minor bigint not null,
  realized_pnl_minor bigint not null,
  swap_minor bigint not null,
  -- SHA-256 over the hashes of the deals.
  hash bytea not null check (length(hash) = 32),
  -- Rises with each change of the digest. A digest begins with 1, or with 2 if the digests of the
  -- day were already made.
  revision integer not null check (revision >= 1),
  created_at timestamptz not null,
  -- Null: the digest was never revised.
  revised_at timestamptz,
  primary key (server_id, day, account_number)
);
