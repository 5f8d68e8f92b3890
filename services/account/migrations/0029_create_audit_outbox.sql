-- Entries of the audit log, each written in the transaction of its change. A row is gone once the
-- organization service has it in the log.
create table audit_outbox (
  id uuid primary key,
  entry json not null,
  created_at timestamptz not null default now()
);
