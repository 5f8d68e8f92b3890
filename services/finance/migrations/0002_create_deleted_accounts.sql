-- Accounts that were deleted for good. Their rows stay, because money's book is never erased, but no reader sees them any
-- more. A row may name an account that the ledger never saw: it was deleted before its first event came.
create table deleted_accounts (
  server_id uuid not null,
  account_number text not null,
  deleted_at timestamptz not null default now(),
  primary key (server_id, account_number)
);
