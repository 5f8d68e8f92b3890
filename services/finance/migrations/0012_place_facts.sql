-- Sequence of the last booked trading event that the account service announces in `account.events`.
-- It becomes `after` in the place of the next finance event, so the webhooks service orders this
-- finance event after the account events up to the sequence. 0: no such event is booked, or only
-- release 0.1.0 booked such events. Then the next finance event does not wait for account events.
alter table ledger_accounts add column announced_sequence bigint not null default 0;
