-- Drops the partitions of the days before `first_kept`, and returns how many were dropped. Unlike
-- the function of 0001, this function waits at most 500 ms for a partition in use, because later
-- readers and writers of snapshots wait behind its lock. The next call tries such a partition
-- again.
create or replace function drop_snapshot_days(first_kept date) returns integer language plpgsql as $$
declare
  partition regclass;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext(current_schema() || ' snapshot days'));
  perform set_config('lock_timeout', '500ms', true);
  for partition in
    select inhrelid::regclass from pg_inherits join pg_class on pg_class.oid = inhrelid
    where inhparent = 'account_metric_snapshots'::regclass
      and relname < 'account_metric_snapshots_' || to_char(first_kept, 'YYYYMMDD')
    order by relname
  loop
    begin
      execute format('drop table %s', partition);
      dropped := dropped + 1;
    exception when lock_not_available then
      raise log 'the partition % is in use and is dropped later', partition;
    end;
  end loop;
  return dropped;
end $$;
