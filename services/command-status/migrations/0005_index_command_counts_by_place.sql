-- no transaction
-- 0007 attaches `command_counts` to `command_counts_by_month` and then does not have to build this
-- index.
-- contract: 0.1.0 has one row per organization, server, day and operation: already unique
create unique index concurrently if not exists command_counts_place
  on command_counts (organization_id, server_id, day, operation, month);
