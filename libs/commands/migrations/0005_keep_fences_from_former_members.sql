-- The generation of the consumer group in which the fence was taken: a member of an earlier one
-- does not take it back.
alter table partition_lease add column generation integer not null default 0;
