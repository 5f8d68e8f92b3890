-- Up to which event of the trading server the facts of each source are recorded; null: not known. They count only while
-- `numbered_sequence` equals `last_sequence`, as the sequences of the sources.
alter table accounts add column account_through bigint;
alter table accounts add column finance_through bigint;
