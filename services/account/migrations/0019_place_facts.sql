-- Sequence of the last booked event that the finance service announces. 0 where 0.1.0 booked the account: then no fact of it
-- waits for those of finance.
alter table feeds add column ledger_sequence bigint not null default 0;
alter table staged_feeds add column ledger_sequence bigint not null default 0;
