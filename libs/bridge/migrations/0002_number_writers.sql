-- The number of the only process that may write. Each process raises the number when it starts, and
-- the new number is its own. A later write of an earlier process finds another number and stores
-- nothing.
alter table progress add column writer bigint not null default 0;
