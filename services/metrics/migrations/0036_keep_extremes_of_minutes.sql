-- The lowest and highest equity of the minute, so that charts of long periods show every drawdown.
-- null: a process of release 0.1.0 stored the row, and only the last equity of the minute is known.
alter table account_metric_snapshots
  add column lowest_equity_minor bigint,
  add column highest_equity_minor bigint;
