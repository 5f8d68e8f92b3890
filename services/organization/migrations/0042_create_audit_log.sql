-- The audit log: who did what, from which address. Rows are inserted, and never changed or deleted.
-- Since 0053 the console service has the audit log in its own schema, and only processes of builds
-- between release 0.1.0 and 0053 write this table.
create table audit_log (
  -- Ascends in the order of insertion. Pages of the log are read in this order.
  id bigint generated always as identity primary key,
  -- Identifies an entry that may be reported repeatedly, so that it is stored once. null: the entry
  -- is reported once only.
  event_id uuid unique,
  -- No foreign key: the deletion of an organization must neither fail nor change entries.
  organization_id uuid,
  at timestamptz not null,
  action text not null,
  -- null: unknown, for example for a failed sign-in.
  actor_type text check (actor_type in ('key', 'user', 'system', 'operator')),
  actor_id text,
  address text,
  subject_type text check (subject_type in ('organization', 'user', 'key', 'server', 'webhook', 'account')),
  subject_id text,
  details jsonb not null,
  check ((subject_type is null) = (subject_id is null))
);
create index audit_log_of_organization on audit_log (organization_id, id desc);

-- Rejects changes of entries. Revoked rights do not suffice: the service may connect as the owner
-- of the table, and an owner can grant itself the revoked rights. If the service has a role of its
-- own, the rights to update and delete are revoked from this role too.
create function audit_entries_stay() returns trigger language plpgsql as $$
begin
  raise exception 'no % of rows of %', lower(tg_op), tg_table_name using errcode = 'check_violation';
end
$$;
create trigger audit_log_stays before update or delete or truncate on audit_log
  for each statement execute function audit_entries_stay();

-- The time of the first request with the key that was billed; null: no request was billed yet. The
-- first use of existing keys is unknown. They get `-infinity`, so that no later use of these keys
-- is recorded in the audit log as the first one. The second statement removes the default, so that
-- new keys get null.
alter table management_keys add column first_used_at timestamptz default '-infinity';
alter table management_keys alter column first_used_at set default null;
