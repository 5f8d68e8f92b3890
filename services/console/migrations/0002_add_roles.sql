-- Users before roles could do everything.
-- contract: 0.1.0 does not name the column, and gets the default
alter table users add column role text not null default 'owner'
  check (role in ('owner', 'operator', 'finance', 'read_only'));
