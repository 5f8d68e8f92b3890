-- The people of organizations, who sign in to the console.
create table users (
  id uuid primary key,
  organization_id uuid not null,
  -- As it was when the user was made: an organization is never renamed.
  organization_name text not null,
  -- In lower case. Unique: a person belongs to one organization.
  email text not null unique check (email = lower(email)),
  name text not null,
  -- Argon2id, in the PHC form: parameters, salt and hash.
  password_hash text not null,
  -- A session with an earlier version has ended. The version rises with a new password, when the
  -- user is disabled, when somebody else removes the second factor, and when all sessions of the
  -- user are ended.
  session_version integer not null default 1,
  created_at timestamptz not null,
  disabled_at timestamptz
);
create index users_of_organization on users (organization_id, created_at desc, id desc);

-- Who did what, from where. Entries are only ever added: the service inserts and selects.
create table audit_log (
  -- Drawn before the commit: a smaller id may become visible later. Pages are read by this id.
  id bigint generated always as identity primary key,
  -- Entries can arrive repeatedly: an entry with a stored event id is ignored.
  event_id uuid unique,
  organization_id uuid,
  at timestamptz not null,
  action text not null,
  -- Null: unknown, for example at a failed sign-in.
  actor_type text check (actor_type in ('key', 'user', 'system', 'operator')),
  actor_id text,
  address text,
  subject_type text check (subject_type in ('organization', 'user', 'key', 'server', 'webhook', 'account')),
  subject_id text,
  details jsonb not null,
  check ((subject_type is null) = (subject_id is null))
);
create index audit_log_of_organization on audit_log (organization_id, id desc);

-- A trigger, because the service's role may own the table, and an owner can grant every revoked
-- right to itself. If the service has a role that owns no table, these rights are also revoked
-- from this role.
create function audit_entries_stay() returns trigger language plpgsql as $$
begin
  raise exception 'no % of rows of %', lower(tg_op), tg_table_name using errcode = 'check_violation';
end
$$;
create trigger audit_log_stays before update or delete or truncate on audit_log
  for each statement execute function audit_entries_stay();
