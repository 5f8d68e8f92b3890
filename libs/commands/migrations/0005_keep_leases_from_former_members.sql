-- The generation of the consumer group in which the lease was acquired: a member of an earlier
-- generation cannot acquire it again.
alter table partition_lease add column generation integer not null default 0;
