-- The number of partitions of the command topic on which `command_inbox.partition` is based. After
-- the topic has grown, the first worker of the service that starts moves the open commands to the
-- partitions of their keys (decisions, 28).
create table inbox_partitions (
  topic text primary key,
  partitions integer not null
);
