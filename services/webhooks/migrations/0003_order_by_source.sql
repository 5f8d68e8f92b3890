-- The sequence of the newest recorded event of each source: the account and the finance service.
-- null: unknown. These columns are valid only while `numbered_sequence` equals `last_sequence`:
-- processes of release 0.1.0 raise `last_sequence` without writing them.
alter table accounts add column account_sequence bigint;
alter table accounts add column finance_sequence bigint;
alter table accounts add column numbered_sequence bigint;

-- Events that arrived before an older event of their account and source. Since 0013, events also
-- wait for older events of the other source. An event is recorded once the missing events are
-- recorded, or once they are given up because it has waited too long or too many events wait.
create table waiting_events (
  organization_id uuid not null,
  event_id uuid not null,
  server_id uuid not null,
  account_number text not null,
  -- The content of the event (`IncomingEvent`) as JSON.
  event text not null,
  waiting_since timestamptz not null default clock_timestamp(),
  primary key (organization_id, event_id)
);
create index waiting_events_of_account on waiting_events (server_id, account_number);
create index waiting_events_by_age on waiting_events (waiting_since);

-- Drops the partitions of the days before `first_kept`, as in 0001, but waits at most 500 ms for
-- the locks of a partition. Later reads and writes of events wait behind a waiting drop. A
-- partition that is in use is skipped, and a later call drops it. 0061 replaces this function.
create or replace function drop_days(first_kept date) returns integer language plpgsql as $$
declare
  partition record;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' days'));
  perform set_config('lock_timeout', '500ms', true);
  for partition in
    select inhrelid::regclass as name, parent.relname as parent
    from pg_inherits
      join pg_class as part on part.oid = inhrelid
      join pg_class as parent on parent.oid = inhparent
    where inhparent in ('events'::regclass, 'deliveries'::regclass)
      and part.relkind = 'r' and part.relname < parent.relname || '_' || to_char(first_kept, 'YYYYMMDD')
    order by part.relname
  loop
    begin
      execute format('drop table %s', partition.name);
      if partition.parent = 'events' then dropped := dropped + 1; end if;
    exception when lock_not_available then
      raise log 'the partition % is in use and is dropped later', partition.name;
    end;
  end loop;
  return dropped;
end $$;
