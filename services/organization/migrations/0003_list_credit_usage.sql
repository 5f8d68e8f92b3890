-- For the list of credit usage: the entries that are usage lines, newest first. A purchase is not a
-- usage line. A settle entry that consumes a reservation is not one either: the usage line is its
-- reserve entry.
create index credit_legs_usage on credit_legs (organization_id, at desc, charge_id desc, leg desc)
  where credits > 0 and (leg in ('consume', 'refund', 'reserve') or action = 'release');

-- The number of usage lines. The transaction that adds entries changes the number, as it changes
-- the sums of the wallet. Counting millions of lines would take too long for a page of the list.
alter table wallets add column usage_lines bigint not null default 0;
update wallets set usage_lines = (
  select count(*) from credit_legs
  where credit_legs.organization_id = wallets.organization_id
    and credits > 0 and (leg in ('consume', 'refund', 'reserve') or action = 'release')
);
