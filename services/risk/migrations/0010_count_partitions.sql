-- The number of partitions of trading.valuations that the columns `partition` of this schema are for. When the topic
-- has grown, accounts and templates move to the partition of their key (decisions, 28).
create table partition_counts (
  topic text primary key,
  partitions integer not null
);
