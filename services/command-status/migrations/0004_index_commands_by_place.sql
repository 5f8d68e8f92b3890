-- no transaction
-- contract: 0.1.0 has one row for each command_id, so that this is unique already
create unique index concurrently if not exists commands_place on commands (month, command_id);
