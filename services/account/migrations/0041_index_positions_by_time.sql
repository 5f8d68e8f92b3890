-- no transaction
-- The closed positions that were open at a time. An index on one of the two times would read all
-- positions that were opened before it, or closed after it. Open positions have their own index.
-- `least`: a trading server whose clock was set back may close a position before its opening.
create index concurrently if not exists positions_open_during on positions
  using gist (server_id, account_number, tstzrange(least(opened_at, closed_at), closed_at))
  where status = 'closed';
