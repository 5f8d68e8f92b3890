-- The lines of the usage list (see 0003), summed up per day (UTC) and operation, kept in the transaction that adds or
-- completes the legs. A release counts for the operation that reserved, as its line does.
create table usage_days (
  organization_id uuid not null,
  day date not null,
  operation text not null,
  -- Lines with credits above zero.
  requests bigint not null,
  credits bigint not null,
  primary key (organization_id, day, operation)
);

insert into usage_days (organization_id, day, operation, requests, credits)
select line.organization_id, (line.at at time zone 'UTC')::date as day, coalesce(reserved.operation, line.operation) as called,
  count(*) filter (where line.leg in ('consume', 'reserve')),
  sum(case when line.leg in ('consume', 'reserve') then line.credits else -line.credits end)
from credit_legs as line
  left join credit_legs as reserved
    on line.leg = 'settle' and reserved.charge_id = line.charge_id and reserved.leg = 'reserve'
where line.credits > 0 and (line.leg in ('consume', 'refund', 'reserve') or line.action = 'release')
group by line.organization_id, day, called;
