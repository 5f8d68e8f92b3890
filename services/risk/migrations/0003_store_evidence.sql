-- What evidence says of the account; null in versions that an earlier release stored.
alter table rule_sets add column currency text;

alter table alerts
  -- The partition of the account in trading.valuations: its owner collects the evidence.
  add column partition integer,
  add column currency text,
  -- When the values were measured that the account had when this version became active.
  add column rule_active_from timestamptz,
  -- The version applies to valuations from this offset on; null: these values breached a rule.
  add column rule_active_from_offset bigint,
  -- When the evidence of a breach is to be collected; null: it is stored, or there is none.
  add column evidence_due_at timestamptz;

-- The evidence of breaches.
create table evidence (
  breach_id uuid primary key,
  -- The live sample that includes the breach; null: no sample does.
  sequence bigint,
  -- The value furthest beyond the threshold since the breach.
  extreme_minor bigint not null,
  extreme_at timestamptz not null,
  -- The signed document: JSON, compressed with gzip.
  document bytea not null,
  stored_at timestamptz not null
);

-- It is compressed already.
alter table evidence alter column document set storage external;

create index evidence_by_age on evidence (stored_at);
