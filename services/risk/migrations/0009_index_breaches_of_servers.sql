-- no transaction
create index concurrently if not exists alerts_by_server on alerts (server_id, measured_at desc, id desc)
  where kind = 'breached';
