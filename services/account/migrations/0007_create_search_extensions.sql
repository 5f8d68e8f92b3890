-- Parts of words, and ids beside them, in one index.
create extension if not exists pg_trgm;
create extension if not exists btree_gin;
