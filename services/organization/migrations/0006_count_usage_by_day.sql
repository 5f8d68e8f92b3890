-- Sums of the usage lines (see 0003) per day (UTC) and operation. The transaction that adds
-- entries, or adds the details of the request to a reservation, changes the sums. The release of a
-- reservation counts for the operation of the reservation, as in the list.
create table usage_days (
  organization_id uuid not null,
  day date not null,
  operation text not null,
  -- Number of consume and reserve entries with credits above 0.
  requests bigint not null,
  -- Refunds and releases count as negative.
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
