-- For the GIN index `accounts_search`. pg_trgm finds parts of words. With btree_gin the index also
-- has the server id, so a search reads only entries of one server.
create extension if not exists pg_trgm;
create extension if not exists btree_gin;
