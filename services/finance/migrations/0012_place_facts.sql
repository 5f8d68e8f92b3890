-- Sequence of the last booked event that the account service announces. 0 where 0.1.0 booked the account: then no transaction
-- waits for the account's facts.
alter table ledger_accounts add column announced_sequence bigint not null default 0;
