-- The people of organizations, who sign in to the console.
create table users (
  id uuid primary key,
  organization_id uuid not null,
  -- As it was when the user was made: an organization is never renamed.
  organization_name text not null,
  -- In lower case; one person, one organization.
  email text not null unique check (email = lower(email)),
  name text not null,
  -- Argon2id, in the PHC form: parameters, salt and hash.
  password_hash text not null,
  -- A session opened under another version is over: raised with every change of the password, and when a user is disabled.
  session_version integer not null default 1,
  created_at timestamptz not null,
  disabled_at timestamptz
);
create index users_of_organization on users (organization_id, created_at desc, id desc);

-- Who did what, from where. Entries are only ever added: the service inserts and selects.
create table audit_log (
  -- In the order of writing; pages go by it.
  id bigint generated always as identity primary key,
  -- What was recorded elsewhere first is recorded here once.
  event_id uuid unique,
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

-- A trigger, because the service's own role may have made the table: what is revoked from an owner, the owner
-- can grant to itself. A role of its own for the service has these rights revoked, too.
create function audit_entries_stay() returns trigger language plpgsql as $$
begin
  raise exception 'no % of rows of %', lower(tg_op), tg_table_name using errcode = 'check_violation';
end
$$;
create trigger audit_log_stays before update or delete or truncate on audit_log
  for each statement execute function audit_entries_stay();
