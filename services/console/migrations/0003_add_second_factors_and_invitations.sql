-- Null: the user has not signed in since this migration.
alter table users add column last_sign_in_at timestamptz;

-- Open invitations to the console. An invitation is deleted when it is accepted or cancelled.
-- Expired invitations of an organization are deleted with its next invitation.
create table invitations (
  id uuid primary key,
  organization_id uuid not null,
  organization_name text not null,
  email text not null check (email = lower(email)),
  name text not null,
  role text not null,
  -- SHA-256 of the token in the invitation's link, in hex.
  token_hash text not null unique,
  -- User id of the owner who invited the person.
  invited_by uuid not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  unique (organization_id, email)
);

-- Second factors of users: secrets of authenticator apps (RFC 6238).
create table second_factors (
  user_id uuid primary key references users,
  -- Encrypted with AES-256-GCM and a key of CONSOLE_SEALING_KEYS. The user id is authenticated
  -- data, so the secret cannot be decrypted for another user.
  secret jsonb not null,
  -- When the user confirmed the secret by a first code. Null: not yet, so no sign-in asks for a
  -- code.
  confirmed_at timestamptz,
  -- The time step (of 30 s) of the last accepted code. Codes of this step and of earlier steps are
  -- rejected, so no code is accepted twice.
  last_step bigint not null default 0
);

-- Unused recovery codes. A code is deleted when it is used.
create table recovery_codes (
  user_id uuid not null references users,
  -- SHA-256 of the code, in hex.
  code_hash text not null,
  primary key (user_id, code_hash)
);

-- Links for forgotten passwords: only the newest link of a user. It is deleted when it is used, or
-- when the user gets a new password in another way.
create table password_recoveries (
  user_id uuid primary key references users,
  -- SHA-256 of the token in the link, in hex.
  token_hash text not null unique,
  expires_at timestamptz not null
);

create table organization_settings (
  organization_id uuid primary key,
  require_two_factor boolean not null
);
