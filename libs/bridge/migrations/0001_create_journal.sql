-- Every event of every account, and every outcome of a reference that made no event, in one order. Rows are never
-- changed or deleted: references are kept for good.
create table journal (
  -- Given by the one process that writes. A second process would use a position that is taken, and end.
  position bigint primary key,
  server_id uuid not null,
  account_number text,
  sequence bigint,
  reference text,
  -- The event exactly as it is answered and published.
  event text,
  outcome text,
  check ((event is null) <> (outcome is null)),
  check ((event is null) = (sequence is null)),
  check (event is not null or reference is not null)
);

-- The first outcome of a reference is final, whatever it is.
create unique index journal_reference on journal (server_id, reference) where reference is not null;
create unique index journal_sequence on journal (server_id, account_number, sequence) where sequence is not null;

-- The state of each account. It may be behind the journal, by changes of balance only.
create table accounts (
  server_id uuid not null,
  account_number text not null,
  -- Every journal row up to this position is in the state.
  position bigint not null,
  state text not null,
  primary key (server_id, account_number)
);

create table servers (
  server_id uuid primary key,
  state text not null
);

create table progress (
  only_row boolean primary key default true check (only_row),
  -- Every journal row up to here is in the stored accounts.
  checkpoint bigint not null,
  -- Every event up to here is on the topic.
  published bigint not null
);
insert into progress (checkpoint, published) values (0, 0);
