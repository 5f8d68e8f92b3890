-- The people of an organization, who sign in to the console.
create table users (
  id uuid primary key,
  organization_id uuid not null references organizations (id),
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

-- For the operator's list.
create index organizations_newest on organizations (created_at desc, id desc);
