-- Breaches and warnings of risk rules. A breach: a value reached the limit of the rule. A warning:
-- a value reached the share of the limit at which the rule warns. A rule has each of them at most
-- once in a period.
create table alerts (
  id uuid primary key,
  kind text not null check (kind in ('breached', 'warning')),
  organization_id uuid not null,
  server_id uuid not null,
  account_number text not null,
  rule_id text not null,
  -- The version of the account's rules in which this rule was added.
  rule_since integer not null,
  period text not null,
  -- The version of the account's rules with which the values were compared.
  rule_version integer not null,
  rule json not null,
  -- The value from which the loss or profit counts, with the net deposits up to the alert.
  reference_minor bigint not null,
  -- The reference without later deposits and withdrawals. A limit in percent is a share of this
  -- value.
  base_minor bigint not null,
  -- When the reference was measured. Null: the reference is the start value of the rule.
  reference_at timestamptz,
  -- The value at which the limit of the rule is reached, also for a warning.
  threshold_minor bigint not null,
  -- The equity or balance that was compared with the threshold.
  value_minor bigint not null,
  equity_minor bigint not null,
  balance_minor bigint not null,
  measured_at timestamptz not null,
  -- Partition and offset of the valuation in trading.valuations. Both null: the values were those
  -- of the account when its rules were set, or the offset is not known. Only the offset is null if
  -- the topic was recreated before the evidence was collected.
  valuation_partition integer,
  valuation_offset bigint,
  -- The command of the rule's action. Null: the alert is a warning, or the action is `notify`.
  command_id uuid,
  recorded_at timestamptz not null,
  unique (server_id, account_number, rule_id, rule_since, period, kind)
);

-- For the list of the breaches of an account, newest first.
create index alerts_by_account on alerts (server_id, account_number, measured_at desc, id desc)
  where kind = 'breached';
