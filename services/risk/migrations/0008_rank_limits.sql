-- The distance of an account from its nearest limit of a `dailyLoss` rule (daily_left) and of a
-- `maxLoss` rule (loss_left), in percent of the limit, as of the stored state. Null: there is no
-- such limit, each of them is breached or is a percentage of a reference that is not positive, or
-- the state was stored before this migration. The columns have no index, because the values change
-- with each checkpoint.
alter table account_states
  add column daily_left double precision,
  -- End of the day for which daily_left applies.
  add column daily_until timestamptz,
  add column loss_left double precision;
