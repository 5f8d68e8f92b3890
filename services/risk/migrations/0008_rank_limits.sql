-- How far an account is from its nearest limit of a type, in percent of the limit, as of its state; null: there is no such
-- limit, it is breached, or an earlier release stored the state. Without an index: the values change with each checkpoint.
alter table account_states
  add column daily_left double precision,
  -- End of the day of `daily_left`.
  add column daily_until timestamptz,
  add column loss_left double precision;
