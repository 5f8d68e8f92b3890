-- locks: milliseconds, because indexes and checks exist (0002 to 0006): no row is read
alter table commands_by_month attach partition commands for values from ('0001-01-01') to ('0001-01-02');
-- locks: milliseconds, because indexes and checks exist (0002 to 0006): no row is read
alter table command_counts_by_month attach partition command_counts for values from ('0001-01-01') to ('0001-01-02');

-- An upgrade stops all processes of release 0.1.0 within 24 hours after this migration
-- (docs/upgrades.md). A database without positions is new: no process of release 0.1.0 uses it, so
-- new commands are stored by month at once.
insert into command_placement (monthly_from, is_filled)
select case when is_new then now() else now() + interval '24 hours' end, is_new
from (select not exists (select from positions) as is_new) as installation;
