-- Sequence of the last booked event that the finance service publishes. The next account event
-- comes after this finance event. 0: there is no such event, or release 0.1.0 booked it. Then the
-- next account event does not wait for an event of finance.
alter table feeds add column ledger_sequence bigint not null default 0;
alter table staged_feeds add column ledger_sequence bigint not null default 0;
