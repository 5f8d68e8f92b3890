-- Who did what, from where. Entries are only ever added: the service inserts and selects.
create table audit_log (
  -- In the order of writing; pages go by it.
  id bigint generated always as identity primary key,
  -- What was recorded elsewhere first is recorded here once.
  event_id uuid unique,
  -- No foreign key: an entry is never changed, and never lost with what it tells of.
  organization_id uuid,
  at timestamptz not null,
  action text not null,
  -- Null: not known, as of a failed sign-in.
  actor_type text check (actor_type in ('key', 'user', 'system', 'operator')),
  actor_id text,
  address text,
  subject_type text check (subject_type in ('organization', 'user', 'key', 'server', 'webhook', 'account')),
  subject_id text,
  details jsonb not null,
  check ((subject_type is null) = (subject_id is null))
);
create index audit_log_of_organization on audit_log (organization_id, id desc);

-- A trigger, because the service's own role made the table: what is revoked from an owner, the owner
-- can grant to itself. A role of its own for the service may also have its rights revoked.
create function audit_entries_stay() returns trigger language plpgsql as $$
begin
  raise exception 'no % of rows of %', lower(tg_op), tg_table_name using errcode = 'check_violation';
end
$$;
create trigger audit_log_stays before update or delete or truncate on audit_log
  for each statement execute function audit_entries_stay();

-- When a request with the key was billed first; null: none was. Of keys that are there already nobody
-- knows that, so that no first use of theirs is recorded.
alter table management_keys add column first_used_at timestamptz default '-infinity';
alter table management_keys alter column first_used_at set default null;
