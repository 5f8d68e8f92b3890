-- Null: never, or before this release.
alter table users add column last_sign_in_at timestamptz;

-- People who were invited and have not accepted. An accepted or cancelled invitation is deleted.
create table invitations (
  id uuid primary key,
  organization_id uuid not null,
  organization_name text not null,
  email text not null check (email = lower(email)),
  name text not null,
  role text not null,
  -- SHA-256 of the token of the link, in hex.
  token_hash text not null unique,
  invited_by uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  unique (organization_id, email)
);

-- The second factor of a person (RFC 6238).
create table second_factors (
  user_id uuid primary key references users,
  -- Sealed with AES-256-GCM under CONSOLE_SEALING_KEYS, bound to the user.
  secret jsonb not null,
  -- Null: the person has not confirmed it by a code, so no sign-in asks for it.
  confirmed_at timestamptz,
  -- The time step of the last code that was accepted: no code is accepted twice.
  last_step bigint not null default 0
);

-- Unused recovery codes. A used code is deleted.
create table recovery_codes (
  user_id uuid not null references users,
  -- SHA-256 of the code, in hex.
  code_hash text not null,
  primary key (user_id, code_hash)
);

-- The newest link for a forgotten password; a used one is deleted.
create table password_recoveries (
  user_id uuid primary key references users,
  -- SHA-256 of the token of the link, in hex.
  token_hash text not null unique,
  expires_at timestamptz not null
);

create table organization_settings (
  organization_id uuid primary key,
  require_two_factor boolean not null
);
