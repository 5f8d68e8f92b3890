-- Columns that are shown in the console, and are not in the key's record in the directory.
-- `revoked_at` is null if the key is active, or was revoked before this migration.
alter table management_keys
  add column name text not null default 'Management key',
  add column revoked_at timestamptz;
