-- The users of the console: people of organizations. A disabled user keeps the row.
create table users (
  id uuid primary key,
  organization_id uuid not null,
  -- A copy from when the user was created. It stays correct, because an organization is never
  -- renamed.
  organization_name text not null,
  -- In lower case. Unique over all organizations, so a person belongs to one organization.
  email text not null unique check (email = lower(email)),
  name text not null,
  -- Argon2id, in the PHC form: parameters, salt and hash.
  password_hash text not null,
  -- A session is valid only while this version is the same as at its sign-in. The version rises
  -- with each new password, when the user is disabled, and with every other action that ends all
  -- sessions of the user.
  session_version integer not null default 1,
  created_at timestamptz not null,
  -- Null: the user is active.
  disabled_at timestamptz
);
create index users_of_organization on users (organization_id, created_at desc, id desc);

-- The audit log: who did what, from which address. The service only inserts and selects entries.
create table audit_log (
  -- In the order of the inserts; pages are read by id. Ids are drawn before the commit, so an entry
  -- with a smaller id can appear after an entry with a larger id.
  id bigint generated always as identity primary key,
  -- Prevents duplicates of entries that are written again after a failure: entries of other
  -- services, and failed sign-ins. Null: the entry was written in the transaction of its change.
  event_id uuid unique,
  organization_id uuid,
  at timestamptz not null,
  action text not null,
  -- Null: the actor is not known, for example after a failed sign-in.
  actor_type text check (actor_type in ('key', 'user', 'system', 'operator')),
  actor_id text,
  address text,
  subject_type text check (subject_type in ('organization', 'user', 'key', 'server', 'webhook', 'account')),
  subject_id text,
  details jsonb not null,
  check ((subject_type is null) = (subject_id is null))
);
create index audit_log_of_organization on audit_log (organization_id, id desc);

-- A trigger rejects updates, deletions and truncation. Revoked rights would not be enough: if the
-- service's role created the table, it is the owner, and an owner can grant itself every right
-- again. A separate role of the service does not have these rights.
create function audit_entries_stay() returns trigger language plpgsql as $$
begin
  raise exception 'no % of rows of %', lower(tg_op), tg_table_name using errcode = 'check_violation';
end
$$;
create trigger audit_log_stays before update or delete or truncate on audit_log
  for each statement execute function audit_entries_stay();
