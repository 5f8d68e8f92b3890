-- no transaction
-- Finds the commands of a server whose idempotency keys begin with a prefix (`idempotencyKeyPrefix`
-- of a list).
create index concurrently if not exists command_ids_of_key
  on command_ids (server_id, idempotency_key text_pattern_ops) where idempotency_key is not null;
