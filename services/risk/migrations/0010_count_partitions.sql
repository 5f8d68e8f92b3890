-- The number of partitions of trading.valuations on which the column `partition` of the other
-- tables is based. After the topic has grown, the first risk process that starts moves the rules
-- and states of accounts, the waiting accounts and the templates to the partitions of their keys
-- (decisions, 28).
create table partition_counts (
  topic text primary key,
  partitions integer not null
);
