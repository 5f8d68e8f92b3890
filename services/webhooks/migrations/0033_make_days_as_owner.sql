-- The role of the service may not create or drop tables. So the functions that create and drop the
-- partitions of days run with the rights of their owner, which is also the owner of the schema.
-- Their fixed `search_path` finds only objects of this schema, whatever `search_path` a caller sets.
select set_config('search_path', current_schema() || ', pg_temp', true);
alter function keep_day(date) security definer set search_path from current;
alter function drop_days(date) security definer set search_path from current;
