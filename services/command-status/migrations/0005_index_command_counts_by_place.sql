-- no transaction
-- contract: 0.1.0 has one row per organization, server, day and operation: already unique
create unique index concurrently if not exists command_counts_place
  on command_counts (organization_id, server_id, day, operation, month);
