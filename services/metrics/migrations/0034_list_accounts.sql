-- What the lists of accounts are sorted and filtered by. The values are those of the account's last stored minute. Null in
-- rows of an earlier release, until the account's next minute. Lists sort all accounts of a server in memory: an index on
-- values that change every minute would cost more than it saves.
alter table account_states
  add column measured_at timestamptz,
  add column balance_minor bigint,
  add column margin_minor bigint,
  add column margin_level double precision;

-- Of the account service. Null until they are known; -infinity: the account service does not have the account any more.
alter table account_statuses
  add column account_name text,
  add column created_at timestamptz;
