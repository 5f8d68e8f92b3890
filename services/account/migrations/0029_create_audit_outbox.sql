-- Entries of the audit log. Each is written in the transaction of its change. The console service
-- reads the entries over internal HTTP, writes them to the audit log, and then has them deleted
-- here.
create table audit_outbox (
  -- Event id of the entry: the audit log has an event id at most once.
  id uuid primary key,
  entry json not null,
  created_at timestamptz not null default now()
);
