-- no transaction
-- 0007 attaches `commands` to `commands_by_month` and then does not have to build this index.
-- contract: 0.1.0 has one row per command_id, so month and command_id are already unique
create unique index concurrently if not exists commands_place on commands (month, command_id);
