-- locks: milliseconds, because 0004 to 0006 made everything that attaching checks
alter table commands_by_month attach partition commands for values from ('0001-01-01') to ('0001-01-02');
-- locks: milliseconds, because 0004 to 0006 made everything that attaching checks
alter table command_counts_by_month attach partition command_counts for values from ('0001-01-01') to ('0001-01-02');

-- A day later all processes of the release before are gone (docs/upgrades.md). Where nothing was
-- ever taken in there are none.
insert into command_placement (monthly_from, is_filled)
select case when is_new then now() else now() + interval '24 hours' end, is_new
from (select not exists (select from positions) as is_new) as installation;
