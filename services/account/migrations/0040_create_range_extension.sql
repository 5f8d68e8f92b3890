-- Ranges of time beside ids, in one index.
create extension if not exists btree_gist;
