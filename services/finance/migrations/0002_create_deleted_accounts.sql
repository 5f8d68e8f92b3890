-- Accounts that were deleted. Their rows in the ledger are never erased, but reads by callers no
-- longer show them. The ledger may not know the account of a row, because the account was deleted
-- before its first trading event arrived.
create table deleted_accounts (
  server_id uuid not null,
  account_number text not null,
  deleted_at timestamptz not null default now(),
  primary key (server_id, account_number)
);
