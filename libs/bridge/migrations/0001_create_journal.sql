-- The events of all accounts, and the outcomes of changes without an event. Rows are never changed
-- or deleted, because the outcome of a reference is permanent.
create table journal (
  -- The order of all rows. Only one process writes, and assigns the positions. A second process
  -- violates the primary key, or since 0002 finds another writer number, and ends.
  position bigint primary key,
  server_id uuid not null,
  -- null: the outcome names no account, for example because the reference was closed.
  account_number text,
  -- Sequence of the event among the events of the account; null: the row has no event.
  sequence bigint,
  -- Reference of the change; null: the event does not confirm a change.
  reference text,
  -- JSON text, exactly as answered and published; null: the row has an outcome.
  event text,
  -- JSON text; null: the row has an event. If this event has a reference, the change was applied.
  outcome text,
  check ((event is null) <> (outcome is null)),
  check ((event is null) = (sequence is null)),
  check (event is not null or reference is not null)
);

-- The first outcome of a reference is final, so a second row with the reference is an error.
create unique index journal_reference on journal (server_id, reference) where reference is not null;
create unique index journal_sequence on journal (server_id, account_number, sequence) where sequence is not null;

-- The stored state of each account. It may lack the newest events of the account; a restart applies
-- these events to the state. Only the platform's part of the bridge interprets the text `state`.
create table accounts (
  server_id uuid not null,
  account_number text not null,
  -- The state includes all journal rows of the account up to this position.
  position bigint not null,
  state text not null,
  primary key (server_id, account_number)
);

create table servers (
  server_id uuid primary key,
  state text not null
);

-- Has one row, with two positions of the journal that shorten a restart.
create table progress (
  only_row boolean primary key default true check (only_row),
  -- The states in `accounts` include all journal rows up to this position. A restart applies only
  -- later events to them.
  checkpoint bigint not null,
  -- All events up to this position are in `trading.events`. A restart publishes only later events.
  published bigint not null
);
insert into progress (checkpoint, published) values (0, 0);
