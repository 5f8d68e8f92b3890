-- The generation of the consumer group in which the partition was acquired: a member of an earlier generation does not
-- take the partition back.
alter table partitions add column generation integer not null default 0;
