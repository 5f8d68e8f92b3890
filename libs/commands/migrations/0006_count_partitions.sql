-- The number of partitions of the command topic whose commands are in the inbox. When the topic has
-- grown, open commands move to the partition of their key (decisions, 28).
create table inbox_partitions (
  topic text primary key,
  partitions integer not null
);
