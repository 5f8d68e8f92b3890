-- Adds the status close_only. Not valid, so that no row is read: every row fulfils the narrower check that is replaced.
-- contract: 0.1.0 writes only statuses that the new check allows too
alter table accounts
  drop constraint accounts_status_check,
  add constraint accounts_status_check check (
    status in ('pending', 'active', 'failed', 'close_only', 'disabled', 'archived', 'deleting', 'deleted')
  ) not valid;
