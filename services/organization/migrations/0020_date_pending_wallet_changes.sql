-- Since when a change waits. Redis remembers for a time which changes it has: one that is older is
-- not repeated. Null for rows of the release before, whose age is not known.
alter table pending_wallet_changes add column created_at timestamptz;
alter table pending_wallet_changes alter column created_at set default now();
