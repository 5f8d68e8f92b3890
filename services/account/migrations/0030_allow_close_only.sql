-- Adds the status close_only. `not valid` avoids a scan of the table under the lock: the replaced
-- check allowed fewer statuses, so every existing row fulfils the new check.
-- contract: 0.1.0 writes only statuses that the new check also allows
alter table accounts
  drop constraint accounts_status_check,
  add constraint accounts_status_check check (
    status in ('pending', 'active', 'failed', 'close_only', 'disabled', 'archived', 'deleting', 'deleted')
  ) not valid;
