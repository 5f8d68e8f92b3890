-- What the list of credit usage is read by: the legs that are lines of it, newest first. Purchases are none, and neither is
-- the consumption of a reservation, whose line is the reservation itself.
create index credit_legs_usage on credit_legs (organization_id, at desc, charge_id desc, leg desc)
  where credits > 0 and (leg in ('consume', 'refund', 'reserve') or action = 'release');

-- How many lines there are, kept with the wallet's sums: a `count(*)` over millions would take longer than a page may.
alter table wallets add column usage_lines bigint not null default 0;
update wallets set usage_lines = (
  select count(*) from credit_legs
  where credit_legs.organization_id = wallets.organization_id
    and credits > 0 and (leg in ('consume', 'refund', 'reserve') or action = 'release')
);
