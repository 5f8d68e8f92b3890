-- The currency of the account, for evidence. Null: the version was stored before this migration, so
-- its breaches get no evidence.
alter table rule_sets add column currency text;

alter table alerts
  -- The partition of the account in trading.valuations when the alert was recorded. The process
  -- that owns this partition collects the evidence. All columns of this statement are null in rows
  -- from before this migration.
  add column partition integer,
  -- The currency of the account. Null: the alert gets no evidence.
  add column currency text,
  -- When the seed of the version `rule_version` was measured. The seed has the values of the
  -- account when these rules were set.
  add column rule_active_from timestamptz,
  -- The version applies to valuations from this offset on. Null if valuation_offset is null.
  add column rule_active_from_offset bigint,
  -- When the evidence of a breach is to be collected. Null: the evidence is stored or was given up,
  -- or the alert gets none.
  add column evidence_due_at timestamptz;

-- The evidence of breaches. It is kept for 400 days; the rows in alerts stay.
create table evidence (
  breach_id uuid primary key,
  -- Sequence of the live sample that includes the breaching valuation. Null: no sample includes it,
  -- or its offset is not known.
  sequence bigint,
  -- The lowest equity in the minute after the breach. For a profit target, the highest equity or
  -- balance.
  extreme_minor bigint not null,
  -- When this value was measured.
  extreme_at timestamptz not null,
  -- The signed document: JSON, compressed with gzip.
  document bytea not null,
  stored_at timestamptz not null
);

-- The document is already compressed, so PostgreSQL does not try to compress it.
alter table evidence alter column document set storage external;

-- Finds the evidence that is older than its retention.
create index evidence_by_age on evidence (stored_at);
