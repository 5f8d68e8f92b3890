-- The lowest and highest equity of the minute, so that charts of long times hide no drawdown. Null
-- in rows of an earlier release: only the last equity of those minutes is known.
alter table account_metric_snapshots
  add column lowest_equity_minor bigint,
  add column highest_equity_minor bigint;
