-- no transaction
-- Finds the breaches of a partition whose evidence is due.
create index concurrently if not exists alerts_with_evidence_due on alerts (partition, evidence_due_at)
  where evidence_due_at is not null;
