-- no transaction
-- The server as text, and deleted accounts too: a search has no condition that another index has,
-- so it is never planned along one that leads to all accounts of the server. The text is made lower
-- case here, and not by pg_trgm, which looks first which characters are letters. With LC_CTYPE "C"
-- these are those of ASCII alone, and "istanbul" would not find "İstanbul".
create index concurrently if not exists accounts_search on accounts
  using gin ((server_id::text), lower(account_number || E'\n' || account_name) gin_trgm_ops);
