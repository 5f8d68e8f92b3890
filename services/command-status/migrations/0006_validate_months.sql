-- Reads the tables while others write to them; attaching then has nothing to read.
alter table commands validate constraint commands_month;
alter table command_counts validate constraint command_counts_month;
