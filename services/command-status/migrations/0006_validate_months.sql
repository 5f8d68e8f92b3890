-- Reads all rows, but does not block reads and writes of the tables. With the validated checks,
-- 0007 attaches the tables without reading any row.
alter table commands validate constraint commands_month;
alter table command_counts validate constraint command_counts_month;
