-- The last drift check of each wallet that found no drift, with the sums of the entries up to an
-- epoch. The next check adds only the later entries. A check first raises the epoch of the wallet's
-- shard (see the table `tags`): later entries get the raised epoch, so the entries of lower epochs
-- are complete.
create table wallet_checks (
  organization_id uuid primary key,
  -- The sums include all entries up to and including this epoch.
  epoch bigint not null,
  purchased bigint not null,
  reserved bigint not null,
  consumed bigint not null,
  -- When all entries of the wallet were last summed up, not only those since the previous check.
  whole_at timestamptz not null
);

-- A drift check compares a wallet with Redis only if the wallet has no pending change.
create index pending_wallet_changes_organization on pending_wallet_changes (organization_id);

-- For the sums of a drift check. All entries of an organization in one epoch have the same key,
-- which a B-tree stores once. So the index is small. A new entry is written after all earlier
-- entries of its organization.
create index credit_legs_epoch on credit_legs (organization_id, epoch);
