-- Values of the account's last stored minute, by which lists of accounts are sorted and filtered.
-- null: only processes of release 0.1.0 have stored minutes of the account so far. No index: a list
-- sorts all accounts of the server in memory, because an index on values that change every minute
-- costs more than it saves.
alter table account_states
  add column measured_at timestamptz,
  add column balance_minor bigint,
  add column margin_minor bigint,
  add column margin_level double precision;

-- Name and creation time of the account; null: not known yet. If the account service no longer has
-- the account, `created_at` is -infinity.
alter table account_statuses
  add column account_name text,
  add column created_at timestamptz;
