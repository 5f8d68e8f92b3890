-- Up to which event of the trading server the facts of each source are recorded; null: not known. They count only while
-- `numbered_sequence` equals `last_sequence`, as the sequences of the sources.
alter table accounts add column account_through bigint;
alter table accounts add column finance_through bigint;

-- Whether an event waits for the other source alone, and therefore for a shorter time.
alter table waiting_events add column for_other_source boolean not null default false;
-- locks: waiting_events has a row only while an older fact is missing, and is normally empty
create index waiting_events_for_other_source on waiting_events (waiting_since) where for_other_source;
-- What the order goes by, so that nobody reads the events that go on waiting.
-- locks: waiting_events has a row only while an older fact is missing, and is normally empty
alter table waiting_events add column place json generated always as (event::json -> 'place') stored;
