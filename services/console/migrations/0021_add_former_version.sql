-- Processes of release 0.1.0 change users in `organization.users`, and raise session_version there
-- with each change. This column has the highest such session_version whose change was copied to
-- this row. Null: none was copied since this migration, for example of a user that was created in
-- the console.
alter table users add column former_version integer;
