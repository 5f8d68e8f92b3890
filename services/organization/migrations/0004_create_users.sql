-- The people of organizations, who sign in to the console. Since 0053 the console service has the
-- people in its own schema, and only processes of earlier builds add or change users here.
create table users (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
  -- In lower case. Unique in all organizations, so a person belongs to one organization only.
  email text not null unique check (email = lower(email)),
  name text not null,
  -- Argon2id in the PHC string format, with parameters, salt and hash.
  password_hash text not null,
  -- Raised with each change of the password, and when the user is disabled. A session that was
  -- created with another version is no longer valid.
  session_version integer not null default 1,
  created_at timestamptz not null,
  -- null: the user is not disabled.
  disabled_at timestamptz
);
create index users_of_organization on users (organization_id, created_at desc, id desc);

-- For the operator's list of all organizations, newest first.
create index organizations_newest on organizations (created_at desc, id desc);
