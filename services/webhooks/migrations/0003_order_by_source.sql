-- The sequence of the newest recorded fact of each source; null: not known. They count only while `numbered_sequence`
-- equals `last_sequence`: a process of the version before numbers events without writing them.
alter table accounts add column account_sequence bigint;
alter table accounts add column finance_sequence bigint;
alter table accounts add column numbered_sequence bigint;

-- Facts that came before an older one of their account and source. Each is recorded when the missing ones are, or when it
-- has waited for too long.
create table waiting_events (
  organization_id uuid not null,
  event_id uuid not null,
  server_id uuid not null,
  account_number text not null,
  -- The event as JSON, as it was taken in.
  event text not null,
  waiting_since timestamptz not null default clock_timestamp(),
  primary key (organization_id, event_id)
);
create index waiting_events_of_account on waiting_events (server_id, account_number);
create index waiting_events_by_age on waiting_events (waiting_since);

-- A day whose partition is in use is left to the next turn: waiting for its lock would hold up everybody who reads or
-- writes events meanwhile.
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
