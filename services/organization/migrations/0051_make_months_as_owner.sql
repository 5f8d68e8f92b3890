-- The functions that create and drop partitions run with the rights of the schema's owner, because
-- the role of the service may not create or drop tables. They use a fixed search_path: a caller
-- must not lead them to objects of other schemas.
select set_config('search_path', current_schema() || ', pg_temp', true);
alter function keep_credit_month(date) security definer set search_path from current;
alter function drop_credit_month(date) security definer set search_path from current;
