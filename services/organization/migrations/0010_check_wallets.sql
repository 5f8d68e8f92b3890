-- Up to where the legs of a wallet were summed up and found to be what the wallet says, so that the next check reads the
-- legs since then alone. A check raises its tag's epoch (see tags): what it has read is complete and does not change.
create table wallet_checks (
  organization_id uuid primary key,
  -- The legs of this epoch and below are in the sums.
  epoch bigint not null,
  purchased bigint not null,
  reserved bigint not null,
  consumed bigint not null,
  -- When all legs were last read, from the first on.
  whole_at timestamptz not null
);

create index pending_wallet_changes_organization on pending_wallet_changes (organization_id);

-- All legs of one epoch are one entry for each organization: small, and written at its end.
create index credit_legs_epoch on credit_legs (organization_id, epoch);
