-- A column, a table and indexes for lists of a server's commands. A list has only commands whose
-- message has arrived: `created_at` is not null.

-- How often the command's message was ingested. The statement that raises the number to 1 also
-- counts the command in `command_counts`, and holds the lock of the command's row meanwhile. So a
-- repeated message is not counted again.
alter table commands add column messages integer not null default 0;
update commands set messages = 1 where created_at is not null;

-- The number of listed commands, by server, operation and day (UTC) of `created_at`. The statement
-- that ingests messages writes it. A list shows the total number of its commands, and a `count(*)`
-- over millions of rows would be too slow for a page. Since 0007 this table is a partition of
-- `command_counts_by_month`.
create table command_counts (
  organization_id uuid not null,
  server_id uuid not null,
  day date not null,
  operation text not null,
  commands bigint not null,
  primary key (organization_id, server_id, day, operation)
) with (fillfactor = 50);
insert into command_counts (organization_id, server_id, day, operation, commands)
select organization_id, server_id, (created_at at time zone 'UTC')::date, operation, count(*)
from commands where created_at is not null group by 1, 2, 3, 4;

-- With `operation`, a count by operation reads only this index.
create index commands_of_server on commands (server_id, created_at desc, command_id desc) include (operation)
  where created_at is not null;
create index commands_of_account on commands (server_id, account_number, created_at desc, command_id desc)
  where created_at is not null and account_number is not null;
create index commands_of_request on commands (server_id, request_id, created_at desc, command_id desc)
  where created_at is not null;
-- Small: a command enters this index only when it fails or expires, and most commands succeed.
create index commands_unsuccessful on commands (server_id, status, created_at desc, command_id desc)
  where status in ('failed', 'expired');
-- Replaces the index of 0001. It finds the commands of an organization that are not final, and now
-- also those of one server, newest first.
drop index commands_open;
create index commands_open on commands (organization_id, server_id, created_at desc, command_id desc)
  where status in ('queued', 'leased');
