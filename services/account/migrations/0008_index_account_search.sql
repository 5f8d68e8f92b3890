-- no transaction
-- Finds accounts by a part of the account number or name. The index has the server id as text, and
-- also deleted accounts. So the conditions of a search match no other index, and the planner cannot
-- choose an index that reads all accounts of the server. lower() is called here, because pg_trgm
-- splits a text into words before it converts the text to lower case. With LC_CTYPE "C" it treats
-- only ASCII characters as letters. Without lower(), a search for "istanbul" would not find
-- "İstanbul".
create index concurrently if not exists accounts_search on accounts
  using gin ((server_id::text), lower(account_number || E'\n' || account_name) gin_trgm_ops);
