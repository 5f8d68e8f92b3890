-- no transaction
-- Finds the closed positions that were open at a given time. With an index of only opened_at or
-- closed_at, a query would read all positions that were opened before this time, or all that were
-- closed after it. Positions that are still open have another index, `positions_open`. `least`: if
-- the clock of a trading server was set back, closed_at can be before opened_at.
create index concurrently if not exists positions_open_during on positions
  using gist (server_id, account_number, tstzrange(least(opened_at, closed_at), closed_at))
  where status = 'closed';
