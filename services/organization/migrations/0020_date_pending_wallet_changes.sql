-- When the change was recorded. Redis remembers only for a limited time which changes it has
-- applied. So an old change is not applied: its wallet shard is synced instead. `-infinity`: only a
-- sync may apply the change. null: the row is from before this migration, so its age is unknown and
-- it counts as old. The default is set in a second statement, so that existing rows stay null.
alter table pending_wallet_changes add column created_at timestamptz;
alter table pending_wallet_changes alter column created_at set default now();
