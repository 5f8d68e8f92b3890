-- The number of the process that may write. Each start raises it; a write of an earlier process finds another number, and
-- stores nothing.
alter table progress add column writer bigint not null default 0;
