-- Months are made and dropped by functions of the schema's owner: the role of the service has
-- no right to change tables. They find the names of this schema alone, whatever a caller says.
select set_config('search_path', current_schema() || ', pg_temp', true);
alter function keep_credit_month(date) security definer set search_path from current;
alter function drop_credit_month(date) security definer set search_path from current;
