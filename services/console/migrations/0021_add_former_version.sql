-- The newest session_version in `organization.users` whose change is copied here; null: none, the
-- user was created in the console.
alter table users add column former_version integer;
