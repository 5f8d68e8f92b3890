-- Users before roles could do everything.
alter table users add column role text not null default 'owner'
  check (role in ('owner', 'operator', 'finance', 'read_only'));
