-- Limits that were reached, and the shares of limits at which a warning is sent: each once for a rule and a period.
create table alerts (
  id uuid primary key,
  kind text not null check (kind in ('breached', 'warning')),
  organization_id uuid not null,
  server_id uuid not null,
  account_number text not null,
  rule_id text not null,
  -- The version in which the rule was added.
  rule_since integer not null,
  period text not null,
  rule_version integer not null,
  rule json not null,
  reference_minor bigint not null,
  -- The reference as it was, without the deposits since; and when its values were measured.
  base_minor bigint not null,
  reference_at timestamptz,
  threshold_minor bigint not null,
  value_minor bigint not null,
  equity_minor bigint not null,
  balance_minor bigint not null,
  measured_at timestamptz not null,
  -- The valuation in trading.valuations; null: the values of the account when its rules were set.
  valuation_partition integer,
  valuation_offset bigint,
  command_id uuid,
  recorded_at timestamptz not null,
  unique (server_id, account_number, rule_id, rule_since, period, kind)
);

-- The breaches of an account, newest first.
create index alerts_by_account on alerts (server_id, account_number, measured_at desc, id desc)
  where kind = 'breached';
