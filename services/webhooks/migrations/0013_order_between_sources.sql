-- The sequence of the trading server up to which the events of each source are recorded. null:
-- unknown, and no event waits for this source. These columns are valid only while
-- `numbered_sequence` equals `last_sequence`, as the columns of 0003.
alter table accounts add column account_through bigint;
alter table accounts add column finance_through bigint;

-- Whether the event waits only for events of the other source. Such an event waits for a shorter
-- time.
alter table waiting_events add column for_other_source boolean not null default false;
-- locks: waiting_events has rows only while an older event is missing, so it is usually empty
create index waiting_events_for_other_source on waiting_events (waiting_since) where for_other_source;
-- The place of the event, by which the events of an account are ordered. A separate column, so that
-- the content of an event that continues to wait is not read.
-- locks: waiting_events has rows only while an older event is missing, so it is usually empty
alter table waiting_events add column place json generated always as (event::json -> 'place') stored;
