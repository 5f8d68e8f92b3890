-- no transaction
-- Finds the partial closes of a position. Other deals are left out, so inserts of deals rarely
-- change this index.
create index concurrently if not exists deals_partial_closes on deals (server_id, account_number, position_id)
  where kind = 'partial_close';
