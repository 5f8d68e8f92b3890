-- no transaction
-- The server as text, and deleted accounts too: a search has no condition that another index has, so it is never planned
-- along one that leads to all accounts of the server.
create index concurrently if not exists accounts_search on accounts
  using gin ((server_id::text), (account_number || E'\n' || account_name) gin_trgm_ops);
