-- The generation of the consumer group in which the lease was acquired. A member of an earlier
-- generation can acquire the lease only after it has expired. So a process that the group has
-- removed does not take the partition from the new member.
alter table partition_lease add column generation integer not null default 0;
