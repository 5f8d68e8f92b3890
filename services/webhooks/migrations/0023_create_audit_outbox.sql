-- Entries of the audit log. The transaction of a change inserts the entry. The row is deleted after
-- the console service has recorded the entry.
create table audit_outbox (
  id uuid primary key,
  entry json not null,
  created_at timestamptz not null default now()
);
