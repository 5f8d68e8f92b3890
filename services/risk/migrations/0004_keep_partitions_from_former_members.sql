-- The generation of the consumer group in which the owner acquired the partition. A process that
-- the group has removed is of an earlier generation, so it cannot acquire the partition again.
-- After Kafka has deleted the group, it counts generations from 1 again. So a process of an earlier
-- generation can still acquire the partition if `token` has not changed since the process joined.
alter table partitions add column generation integer not null default 0;
