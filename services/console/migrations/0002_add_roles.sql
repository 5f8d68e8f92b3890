-- Before roles existed, every user had all rights. So existing users, and users that are copied
-- from release 0.1.0, become owners.
-- contract: 0.1.0 does not write this table, and an insert without the column gets the default
alter table users add column role text not null default 'owner'
  check (role in ('owner', 'operator', 'finance', 'read_only'));
