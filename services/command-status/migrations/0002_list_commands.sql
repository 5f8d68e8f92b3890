-- What lists of a server's commands are read by. Only commands whose message has arrived are listed (`created_at` tells).

-- How often its message was taken in: the first time it is counted in `command_counts`, under the lock of its row.
alter table commands add column messages integer not null default 0;
update commands set messages = 1 where created_at is not null;

-- How many listed commands a server has, by operation and day (UTC) of `created_at`; written by the statement that takes the
-- messages in. A `count(*)` over millions of rows would take longer than a page may.
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

-- `operation` is in it so that a count by operation reads no rows.
create index commands_of_server on commands (server_id, created_at desc, command_id desc) include (operation)
  where created_at is not null;
create index commands_of_account on commands (server_id, account_number, created_at desc, command_id desc)
  where created_at is not null and account_number is not null;
create index commands_of_request on commands (server_id, request_id, created_at desc, command_id desc)
  where created_at is not null;
-- A row enters it once, at its end; most never do.
create index commands_unsuccessful on commands (server_id, status, created_at desc, command_id desc)
  where status in ('failed', 'expired');
-- Serves the open ones of an organization as before, and now those of a server in order.
drop index commands_open;
create index commands_open on commands (organization_id, server_id, created_at desc, command_id desc)
  where status in ('queued', 'leased');
