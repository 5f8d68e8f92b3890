-- no transaction
-- Finds the commands whose idempotency keys begin with a text, such as all commands of a bulk.
create index concurrently if not exists command_ids_of_key
  on command_ids (server_id, idempotency_key text_pattern_ops) where idempotency_key is not null;
