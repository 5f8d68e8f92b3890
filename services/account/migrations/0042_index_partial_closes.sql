-- no transaction
-- The closed parts of positions. Other deals are not in this index, so that it rarely changes.
create index concurrently if not exists deals_partial_closes on deals (server_id, account_number, position_id)
  where kind = 'partial_close';
