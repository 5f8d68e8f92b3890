-- With btree_gist one GiST index can have server id, account number and a range of time
-- (`positions_open_during`).
create extension if not exists btree_gist;
