-- The role of the service may not create or drop tables. So the functions that create and drop the
-- partitions of months run with the rights of their owner, the role that runs the migrations. They
-- keep the `search_path` that is set here, so a caller cannot make them use tables of another
-- schema.
select set_config('search_path', current_schema() || ', pg_temp', true);
alter function keep_command_month(date) security definer set search_path from current;
alter function drop_command_month(date) security definer set search_path from current;
